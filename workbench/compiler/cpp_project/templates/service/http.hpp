// A small HTTP/1.1 server whose every use of memory and time by a client is limited.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace $namespace {

// What one client, or all of them together, may take.
struct Limits {
  std::size_t header = 16 << 10;            // bytes of the request line and all headers
  std::size_t body = std::size_t{64} << 20; // bytes of one request, however it is sent
  std::size_t bodies = std::size_t{256} << 20;  // bytes of all requests that are under way
  std::size_t connections = 512;            // open at the same time
  std::chrono::seconds idle{10};            // until a request has begun and its headers are there
  std::chrono::seconds receive{30};         // until its body is there
  std::chrono::seconds send{30};            // until its answer was taken
};

struct HttpRequest {
  std::string method;
  std::string path;  // decoded, without what follows a question mark
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string body;  // JSON
};

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // Makes the answer to a request that never gets to the handler.
  using Refusal = std::function<std::string(const std::string& why)>;

  HttpServer(Handler handler, Refusal refusal, Limits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens; 0 takes a free port. Gives the port; throws std::system_error where that cannot be.
  int bind(const std::string& host, int port);
  // Serves until `stop`, and then until the requests that run have their answers.
  void serve();
  // Any thread may call it, once the server is bound.
  void stop();

 private:
  class Connection;
  void accept_one();
  void converse(int socket);

  Handler handler_;
  Refusal refusal_;
  Limits limits_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::atomic<std::size_t> bodies_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::set<int> open_;
};

}  // namespace $namespace
