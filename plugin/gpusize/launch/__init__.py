"""Properties of the AWS resources that run a decided workload, one module per subject.

Pulumi's camelCase names, as the aws provider 7 has them. Wiring values are passed on unread: they
may be outputs that only the engine knows. Everything here is pure; `gpusize.making` registers it.
"""
