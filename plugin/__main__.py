from gpusize.host import serve

serve()
