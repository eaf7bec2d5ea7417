"""What puts one thing back to how it was in the control: one module a rule (agent.treating)."""
