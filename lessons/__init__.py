"""The shared bank: propose, anonymise, review, publish, retract."""
