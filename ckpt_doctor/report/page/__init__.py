"""The HTML page: its template, its style sheet and its pictures."""
