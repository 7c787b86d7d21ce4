"""A stand-in for Pulumi's aws provider: no cloud, no account, every resource exists at once.

Name its folder in a project and the engine takes it instead of the real one:

    plugins:
      providers:
        - name: aws
          path: ../../tests/fakes/aws

`resources.json` says what it knows, in a short form: a type is `string`, `boolean`, `integer`,
`number`, `map` (of strings), `#Shape`, `[item]` or an object; `!` after a key means required.
`replaces` names properties that cannot be changed in place. Programs in YAML are checked against
it; other programs may use any aws type.
"""
