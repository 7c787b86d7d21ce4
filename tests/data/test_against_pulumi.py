"""Every instance type of the catalog is one that the AWS provider knows."""

from __future__ import annotations

import warnings

import pytest

from gpusize_catalog.store import Catalog

# The enum of pulumi-aws 7 does not list it; botocore does.
NOT_IN_THE_ENUM = {"trn2u.48xlarge"}


def test_types_are_in_the_provider_enum(catalog: Catalog) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ec2 = pytest.importorskip("pulumi_aws.ec2", reason="pulumi-aws is not installed")
        known = {member.value for member in ec2.InstanceType}
    assert {one.id for one in catalog.instances()} - known <= NOT_IN_THE_ENUM
