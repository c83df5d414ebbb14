"""Generated programs, in Python and in C++, read as one sequence of events; printed graphs.

Other rooms import what they need of it from here.
"""

from workbench.artifacts.programs.cpp_text import RESULTS as RESULTS
from workbench.artifacts.programs.events import LIBRARY as LIBRARY
from workbench.artifacts.programs.events import Allocate as Allocate
from workbench.artifacts.programs.events import Call as Call
from workbench.artifacts.programs.events import Check as Check
from workbench.artifacts.programs.events import Clear as Clear
from workbench.artifacts.programs.events import Drop as Drop
from workbench.artifacts.programs.events import Event as Event
from workbench.artifacts.programs.events import Inputs as Inputs
from workbench.artifacts.programs.events import Note as Note
from workbench.artifacts.programs.events import Program as Program
from workbench.artifacts.programs.events import Retain as Retain
from workbench.artifacts.programs.events import Return as Return
from workbench.artifacts.programs.events import Share as Share
from workbench.artifacts.programs.events import flatten as flatten
from workbench.artifacts.programs.forward_outputs import (
    read_forward_outputs as read_forward_outputs,
)
from workbench.artifacts.programs.generated_program import EXAMPLES as EXAMPLES
from workbench.artifacts.programs.generated_program import find_kernels as find_kernels
from workbench.artifacts.programs.generated_program import is_cpp_program as is_cpp_program
from workbench.artifacts.programs.generated_program import is_python_program as is_python_program
from workbench.artifacts.programs.generated_program import read_cpp_events as read_cpp_events
from workbench.artifacts.programs.generated_program import read_program as read_program
from workbench.artifacts.programs.printed_graph import TensorType as TensorType
from workbench.artifacts.programs.printed_graph import TextNode as TextNode
from workbench.artifacts.programs.printed_graph import parse_graph as parse_graph
from workbench.artifacts.programs.python_text import read_functions as read_functions
from workbench.artifacts.programs.size_text import ITEM_BYTES as ITEM_BYTES
from workbench.artifacts.programs.size_text import Dims as Dims
from workbench.artifacts.programs.size_text import bytes_of as bytes_of
from workbench.artifacts.programs.size_text import evaluate_all as evaluate_all
from workbench.artifacts.programs.size_text import normalize_expression as normalize_expression
from workbench.artifacts.programs.size_text import split_parts as split_parts
