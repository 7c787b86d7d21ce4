"""Entry point of the policy pack, started by the engine."""

from gpusize_policies.pack import serve

serve()
