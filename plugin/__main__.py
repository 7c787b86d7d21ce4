"""Entry point of the plugin, started by the engine."""

from gpusize.host import serve

serve()
