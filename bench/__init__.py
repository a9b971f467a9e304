# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: one command each, ratios measured side by side."""
