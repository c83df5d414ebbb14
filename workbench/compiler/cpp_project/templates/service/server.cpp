// Serves the model over HTTP by the Open Inference Protocol.
#include <httplib.h>
#include <signal.h>

#include <chrono>
#include <iostream>
#include <map>
#include <thread>

#include "client.hpp"
#include "contract.hpp"
#include "protocol.hpp"
#include "tensors.hpp"

namespace {

using namespace $namespace;
using nlohmann::json;

constexpr auto kUsage =
    "usage: server PACKAGE [--host 127.0.0.1] [--port 8080] [--runners 2] [--weights FILE]\n"
    "  --port     0 takes a free one\n"
    "  --runners  calls that run at the same time\n"
    "  --weights  a dict of tensors by torch.save (those in the package)\n";
constexpr std::size_t kLargestRequest = std::size_t{64} << 20;  // bytes

using Words = std::map<std::string, std::string>;

Words settings(int argc, char** argv) {
  Words found = {{"--host", "127.0.0.1"}, {"--port", "8080"}, {"--runners", "2"}, {"--weights", ""}};
  for (int i = 2; i < argc; i += 2) {
    const auto place = found.find(argv[i]);
    if (place == found.end() || i + 1 == argc) {
      throw Error(kUsage);
    }
    place->second = argv[i + 1];
  }
  if (argc < 2) {
    throw Error(kUsage);
  }
  return found;
}

int number(const std::string& text) try {
  return std::stoi(text);
} catch (const std::exception&) {
  throw Error(kUsage);
}

void send(httplib::Response& response, int status, const json& content) {
  response.status = status;
  // text that is no UTF-8 comes back with a sign in its place
  response.set_content(content.dump(-1, ' ', false, json::error_handler_t::replace),
                       "application/json");
}

void infer(const Client& client, const httplib::Request& request, httplib::Response& response) {
  try {
    const auto asked = json::parse(request.body);
    send(response, 200, answer_of(asked, client.run(inputs_of(asked))));
  } catch (const json::exception& error) {
    send(response, 400, {{"error", std::string("The request is no JSON: ") + error.what()}});
  } catch (const BadRequest& error) {
    send(response, 400, {{"error", std::string("Bad request: ") + error.what()}});
  } catch (const ContractError& error) {
    send(response, 400, {{"error", error.what()}});
  } catch (const std::exception& error) {
    send(response, 500, {{"error", error.what()}});
  }
}

void add_answers(httplib::Server& server, const Client& client) {
  const auto about = metadata();
  const auto model = std::string(R"(/v2/models/([^/]+))");
  const auto is_known = [](const httplib::Request& request, httplib::Response& response) {
    if (request.matches[1] == kModel) {
      return true;
    }
    send(response, 404, {{"error", std::string("There is no such model; it is ") + kModel}});
    return false;
  };
  for (const auto* path : {"/v2/health/live", "/v2/health/ready"}) {
    server.Get(path, [](const auto&, auto& response) { send(response, 200, json::object()); });
  }
  server.Get(model, [=](const auto& request, auto& response) {
    if (is_known(request, response)) {
      send(response, 200, about);
    }
  });
  server.Post(model + "/infer", [=, &client](const auto& request, auto& response) {
    if (is_known(request, response)) {
      infer(client, request, response);
    }
  });
  server.set_payload_max_length(kLargestRequest);
}

// Ends the server at SIGINT or SIGTERM, after the requests that run.
void stop_at_signals(httplib::Server& server, sigset_t signals) {
  std::thread([&server, signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    while (!server.is_running()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    server.stop();
  }).detach();
}

}  // namespace

int main(int argc, char** argv) try {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before there are other threads

  const auto given = settings(argc, argv);
  const auto runners = number(given.at("--runners"));
  if (runners < 1) {
    throw Error(kUsage);
  }
  static Client client(argv[1], {.runners = static_cast<std::size_t>(runners)});
  if (!given.at("--weights").empty()) {
    client.update_weights(read_weights(given.at("--weights")));
  }
  static httplib::Server server;  // lives as long as the thread that ends it
  add_answers(server, client);
  const auto host = given.at("--host");
  int port = number(given.at("--port"));
  if (port == 0) {
    port = server.bind_to_any_port(host);
  } else if (!server.bind_to_port(host, port)) {
    port = -1;
  }
  if (port < 0) {
    throw Error("cannot listen on " + host + ":" + given.at("--port"));
  }
  stop_at_signals(server, signals);
  std::cout << "http://" << host << ':' << port << "/v2/models/" << kModel << std::endl;
  return server.listen_after_bind() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
