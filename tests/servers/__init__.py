"""Doubles of the providers' servers, for tests of judges."""

from servers.asked import Asked
from servers.faults import FAULTS, Script, faulty
from servers.limits import Limits
from servers.models import MODELS, Model
from servers.server import KEYS, ProtocolServer, Record

__all__ = ["FAULTS", "KEYS", "MODELS", "Asked", "Limits", "Model", "ProtocolServer", "Record", "Script", "faulty"]
