"""The bounded loop: tools, prompts, the report, and the rules by which the code decides."""
