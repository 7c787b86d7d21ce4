"""Every instance type of the catalog is one that the AWS provider knows."""

from __future__ import annotations

import warnings

import pytest

from gpusize_catalog.store import Catalog

# Newer than the enum of pulumi-aws 7, but listed by botocore or on a page of AWS.
NOT_IN_THE_ENUM = {"trn2u.48xlarge"}


def test_types_are_in_the_provider_enum(catalog: Catalog) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ec2 = pytest.importorskip("pulumi_aws.ec2", reason="pulumi-aws is not installed")
        known = {member.value for member in ec2.InstanceType}
    strange = {one.id for one in catalog.instances()} - known - NOT_IN_THE_ENUM
    assert not strange, "misspelt, or newer than the enum: then add it to NOT_IN_THE_ENUM here"
