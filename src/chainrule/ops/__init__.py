"""Every operation, one family per file, imported when one of its ops is first asked for."""

from chainrule.core.op import OPS
from chainrule.ops.catalogue import CATALOGUE

OPS.places = {
    name: f"chainrule.ops.{family}" for family, names in CATALOGUE.items() for name in names.split()
}
