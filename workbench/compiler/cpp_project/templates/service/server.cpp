// Serves the model over HTTP by the Open Inference Protocol.
#include <c10/util/Exception.h>
#include <signal.h>

#include <condition_variable>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "client.hpp"
#include "contract.hpp"
#include "http.hpp"
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
constexpr std::size_t kLongestWords = 4000;  // of an error: a request may be quoted in it

// Lets so many threads hold it as there are runners.
class Slots {
 public:
  explicit Slots(std::size_t count) : free_(count) {}
  void lock() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return free_ > 0; });
    --free_;
  }
  void unlock() {
    const std::lock_guard lock(mutex_);
    ++free_;
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t free_;
};

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

HttpResponse answer(int status, const json& content) {
  // text that is no UTF-8 comes back with a sign in its place
  return {status, content.dump(-1, ' ', false, json::error_handler_t::replace)};
}

std::string refusal(const std::string& why) {
  return answer(0, {{"error", why.substr(0, kLongestWords)}}).body;
}

HttpResponse refused(int status, const std::string& why) { return {status, refusal(why)}; }

HttpResponse infer(const Client& client, Slots& slots, const std::string& body) {
  try {
    check_form(body);
    const std::lock_guard turn(slots);  // what is parsed takes ten times the memory of its text
    const auto asked = json::parse(body);
    check_id(asked);
    return answer(200, answer_of(asked, client.run(inputs_of(asked))));
  } catch (const json::exception& error) {
    return refused(400, std::string("The request is no JSON: ") + error.what());
  } catch (const BadRequest& error) {
    return refused(400, std::string("Bad request: ") + error.what());
  } catch (const ContractError& error) {
    return refused(400, error.what());
  } catch (const c10::Error& error) {
    return refused(500, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return refused(503, "There is no memory for the request");
  } catch (const std::exception& error) {
    return refused(500, error.what());
  }
}

// The name and what follows it of /v2/models/NAME…; nothing for other paths.
std::pair<std::string, std::string> model_in(const std::string& path) {
  constexpr std::string_view before = "/v2/models/";
  constexpr std::string_view infer = "/infer";
  if (!path.starts_with(before)) {
    return {};
  }
  const auto rest = path.substr(before.size());
  const auto name = std::string(kModel);
  const bool has_infer = rest != name && rest.ends_with(infer);
  return has_infer ? std::pair(rest.substr(0, rest.size() - infer.size()), std::string(infer))
                   : std::pair(rest, std::string());
}

HttpServer::Handler answers(const Client& client, std::size_t runners) {
  auto slots = std::make_shared<Slots>(runners);
  return [&client, slots, about = answer(200, metadata())](const HttpRequest& request) {
    const bool is_get = request.method == "GET" || request.method == "HEAD";
    if (request.path == "/v2/health/live" || request.path == "/v2/health/ready") {
      return is_get ? answer(200, json::object()) : refused(405, "This is asked for with GET");
    }
    const auto [name, rest] = model_in(request.path);
    if (name.empty()) {
      return refused(404, "There is no such path; the model is at /v2/models/" +
                              std::string(kModel));
    }
    if (name != kModel) {
      return refused(404, std::string("There is no such model; it is ") + std::string(kModel));
    }
    if (rest.empty()) {
      return is_get ? about : refused(405, "A model is described with GET, asked with POST …/infer");
    }
    return request.method == "POST" ? infer(client, *slots, request.body)
                                    : refused(405, "A model is asked with POST");
  };
}

// Ends the server at SIGINT or SIGTERM, after the requests that run.
void stop_at_signals(HttpServer& server, sigset_t signals) {
  std::thread([&server, signals] {
    int signal = 0;
    sigwait(&signals, &signal);
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
  // lives as long as the thread that ends it
  static HttpServer server(answers(client, static_cast<std::size_t>(runners)), refusal);
  const auto host = given.at("--host");
  int port = number(given.at("--port"));
  try {
    port = server.bind(host, port);
  } catch (const std::system_error& error) {
    throw Error("cannot listen on " + host + ":" + given.at("--port") + ": " +
                error.code().message());
  }
  stop_at_signals(server, signals);
  std::cout << "http://" << host << ':' << port << "/v2/models/" << kModel << std::endl;
  server.serve();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
