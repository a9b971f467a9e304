# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: one command each; they measure ratios of alternating runs."""
