# SPDX-License-Identifier: Apache-2.0
"""The verbs of the command line: one file and one function of its name for each.

A verb parses its options, calls the library, and prints. Its docstring is its help, and ends with
an example. Options that several verbs have are in _options.py.
"""
