"""From facts to findings (durable-rules, checked by a reference evaluator), to ranked causes, to the next checks."""
