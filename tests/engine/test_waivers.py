"""A preview shows what is waived and passes; with the waiver expired it fails."""

from __future__ import annotations


def levels(run):
    return {violation.policy: violation.level for violation in run.violations}


def test_the_preview_fails_when_its_waivers_have_ended(workshop):
    made = workshop.example("waived-demo")
    accepted = made.preview().succeed()
    assert set(levels(accepted)) == {"waived-finding"}
    assert {one.resource for one in accepted.violations} == {"demo", "kiosk"}

    made.set_config("gpusize:today", "2026-12-11")  # the day after the end of kiosk-spot
    ended = made.preview().fail()
    failing = {one.resource for one in ended.violations if one.level == "mandatory"}
    assert failing == {"kiosk"}
    assert levels(ended)["spot-for-user-facing"] == "mandatory"
    assert levels(ended)["waiver-expired"] == "mandatory"
    assert "expired on 2026-12-10, 1 day ago" in ended.text

    made.set_config("gpusize:today", "2027-01-01")
    assert {"demo", "kiosk"} == {
        one.resource for one in made.preview().fail().violations if one.level == "mandatory"
    }
