"""What joining changes of one table is worth, and what it costs: PyIceberg clients that write the same tables at once."""
