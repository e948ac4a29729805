"""TELLS: one snapshot of a contract, as JSON and as TXT; and how such a document is read back."""
