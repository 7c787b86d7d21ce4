"""A stand-in for Pulumi's Python language host, for machines where the engine was built here.

The official host comes with an installed Pulumi CLI alone. This one serves what `preview`, `up`
and `policy analyze` need of `LanguageRuntime`: programs, component plugins and policy packs, with
the `virtualenv` option as the official host reads it. It installs nothing and generates nothing.
"""
