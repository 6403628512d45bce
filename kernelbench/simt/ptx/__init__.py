"""Parses parts of PTX: text, names, operands, declarations, function headers and bodies."""
