"""What is known: frozen dataclasses, the only things that cross package borders. No I/O here.

The small ones that every inspection needs are named tuples: Python makes such a class in less time, and
making classes is a large part of what ``ckpt-doctor inspect`` takes.
"""
