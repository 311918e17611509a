"""Data and constraints, one file for each noun."""

from teams.models.audit import AuditChain, AuditEvent, KnownName
from teams.models.bank import Bank, BankAssignment
from teams.models.key import ApiKey
from teams.models.project import Project, Service
from teams.models.team import Invitation, Membership, Team
from teams.models.user import User

__all__ = [
    "ApiKey",
    "AuditChain",
    "AuditEvent",
    "Bank",
    "BankAssignment",
    "Invitation",
    "KnownName",
    "Membership",
    "Project",
    "Service",
    "Team",
    "User",
]
