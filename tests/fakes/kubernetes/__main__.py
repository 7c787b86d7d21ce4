"""Entry point: `python tests/fakes/kubernetes`, started by the engine."""

import sys
from pathlib import Path

# Run as a folder, so the repository root is not importable yet.
sys.path[0] = str(Path(__file__).resolve().parents[3])

if __name__ == "__main__":
    from tests.fakes.aws.provider import serve
    from tests.fakes.kubernetes.provider import Kubernetes

    serve(Kubernetes())
