"""Other libraries' formats."""
