from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from sample_packages import many_inputs

from tests.artifacts import package_sample
from workbench.compiler.cpp_project.project import render_files
from workbench.handles.packages.package import Package


@pytest.fixture(scope="session")
def package(many: Package) -> Package:
    """The package that the projects are of."""
    return many


@dataclass(frozen=True)
class Project:
    """A built project; `log` is what the compiler said."""

    folder: Path
    package: str
    log: str

    def run(self, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run one of its programs in the project's folder."""
        command = [str(self.folder / "build" / program), *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.folder, timeout=120
        )


@pytest.fixture(scope="session")
def project(package, tmp_path_factory) -> Project:
    folder = package.cpp_project(tmp_path_factory.mktemp("project") / "many", many_inputs())
    # the client's three sources as one: torch's headers, which take the time, are read once
    return Project(folder, package.path, built(folder, "-DCMAKE_UNITY_BUILD=ON"))


@dataclass(frozen=True)
class Service:
    """A served model; `model` is the process."""

    url: str
    model: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].partition("/")[0])

    def memory(self, name: str = "VmRSS") -> int:
        """Bytes of the process, by a name of /proc/PID/status."""
        text = Path(f"/proc/{self.model.pid}/status").read_text()
        (line,) = (line for line in text.splitlines() if line.startswith(f"{name}:"))
        return int(line.split()[1]) << 10


@pytest.fixture(scope="session")
def whole(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The whole service, with the model: built in a minute."""
    need_json()
    folder = package.cpp_project(tmp_path_factory.mktemp("service") / "many")
    log = built(folder, "-DSERVICE=ON", target="server")
    assert f"{folder}/service" not in "".join(line for line in log.split("\n") if "warning" in line)
    command = [str(folder / "build/service/server"), package.path, "--port", "0"]
    with served(command, folder) as made:
        yield made


def need_json() -> None:
    has = ["pkg-config", "--exists", "nlohmann_json"]
    if shutil.which(has[0]) is None or subprocess.run(has, check=False).returncode:
        pytest.skip("no nlohmann_json")


ECHO = """
#include "input_check.cpp"
#include "service/protocol.cpp"
#include "service/server.cpp"

namespace $namespace {
struct Client::Model {};
Client::Client(const std::filesystem::path&, Options) {}
Client::~Client() = default;
std::vector<at::Tensor> Client::run(const std::vector<at::Tensor>& inputs) const {
  const auto wrong = problems(kInputs, kRelations, inputs);
  return wrong.empty() ? inputs : throw ContractError(wrong.front());
}
void Client::update_weights(const Weights&) {}
Weights read_weights(const std::filesystem::path&) { return {}; }
}  // namespace $namespace
"""
"""All of the service but HTTP, with a model that gives its inputs back, as one text: the headers of
torch and of JSON, which take the time, are read once."""


@pytest.fixture(scope="session")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service without a package, and with a short patience: built in ten seconds."""
    need_json()
    folder = tmp_path_factory.mktemp("echo")
    model = package_sample.model()
    texts = render_files(Path("echo.pt2"), package_sample.manifest(model), model)
    patience = "idle{10}"
    assert patience in texts["service/http.hpp"]
    texts["service/http.hpp"] = texts["service/http.hpp"].replace(patience, "idle{2}")
    texts["echo.cpp"] = ECHO.replace("$namespace", "echo_client")
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    torch_folder = Path(torch.__file__).parent
    headers = ["-I.", "-Iservice", "-isystem", str(torch_folder / "include")]
    compiler = ["g++", "-std=c++20", "-O0", "-c", *headers]
    with subprocess.Popen([*compiler, "service/http.cpp"], cwd=folder) as beside:
        subprocess.run([*compiler, "echo.cpp"], cwd=folder, check=True)
    assert beside.returncode == 0
    libraries = torch_folder / "lib"
    linked = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-ltorch_cpu", "-lc10", "-pthread"]
    subprocess.run(["g++", "echo.o", "http.o", "-o", "server", *linked], cwd=folder, check=True)
    with served([str(folder / "server"), "none", "--port", "0"], folder) as made:
        yield made


@contextmanager
def served(command: Sequence[str], folder: Path) -> Iterator[Service]:
    """Start a server, and see that it ends well."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server:
        try:
            assert server.stdout is not None
            yield Service(server.stdout.readline().strip(), server)
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=20) == 0


def built(folder: Path, *options: str, target: str = "all") -> str:
    """Build a project as its README says; gives the output."""
    scripts = Path(sys.executable).parent
    path = os.pathsep.join([str(scripts), os.environ.get("PATH", os.defpath)])
    cmake = shutil.which("cmake", path=path)
    if cmake is None or shutil.which("g++", path=path) is None:
        pytest.skip("no CMake or no g++")
    prefix = f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}"
    quick = "-DCMAKE_CXX_FLAGS_RELEASE=-O0"
    ninja = ["-G", "Ninja"] if shutil.which("ninja", path=path) else []
    configure = [cmake, "-S", ".", "-B", "build", *ninja, prefix, quick, *options]
    text = ""
    for command in (configure, [cmake, "--build", "build", "--target", target, "-j2"]):
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PATH": path},
        )
        text += done.stdout + done.stderr
        assert done.returncode == 0, text
    return text
