// Runs the saved example inputs and compares the outputs with those of Python.
#include <iostream>

#include "client.hpp"
#include "tensors.hpp"

int main(int argc, char** argv) try {
  using namespace $namespace;
  if (argc < 2) {
    std::cerr << "usage: example PACKAGE [INPUTS [OUTPUTS [WEIGHTS]]]\n";
    return 2;
  }
  Client client(argv[1]);
  if (argc > 4) {
    client.update_weights(read_weights(argv[4]));
  }
  const auto inputs = read_inputs(argc > 2 ? argv[2] : "example_inputs.pt");
  const auto outputs = client.run(inputs);
  for (const auto& output : outputs) {
    std::cout << output.scalar_type() << ' ' << output.sizes() << '\n';
  }
  const auto expected = read_tensors(argc > 3 ? argv[3] : "example_outputs.pt");
  std::cout << "largest difference from Python: " << largest_difference(outputs, expected) << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
