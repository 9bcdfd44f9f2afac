"""One thing a person looks at a file: values of ``app`` to text. JSON never comes through here."""
