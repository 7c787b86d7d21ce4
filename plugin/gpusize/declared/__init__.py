"""What a user declares, one module per kind of work; `gpusize.workload` is the door.

Annotations are real objects here, not strings: pydantic evaluates them once for each class that
inherits them, and these modules lie on the path of every command.
"""
