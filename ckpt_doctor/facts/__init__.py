"""What is known: frozen dataclasses, the only things that cross package borders. No I/O here."""
