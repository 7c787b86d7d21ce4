"""Judges and reports: rules, settings, outputs, the policy pack and the command."""
