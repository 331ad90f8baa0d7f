"""SQL text to relations of the plan language: parse, bind, plan, lower. Does no I/O."""
