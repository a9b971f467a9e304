# SPDX-License-Identifier: Apache-2.0
"""One file for each diagnosis: a function from a structure, or from the run, to a finding."""
