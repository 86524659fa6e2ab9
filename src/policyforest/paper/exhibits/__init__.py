"""One module for each kind of figure and table: what it reads from the cells, and how it is drawn.

A figure's module has `draw(cells, name)`, a table's has `rows(cells)`: the columns first, then the rows.
"""
