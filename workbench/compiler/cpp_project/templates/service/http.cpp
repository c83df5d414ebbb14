#include "http.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace $namespace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBlock = 64 << 10;
constexpr std::size_t kLongestLine = 1 << 10;  // of the size of a chunk
constexpr auto kLinger = std::chrono::seconds(2);

// What a client is told before its connection is closed.
struct Refused {
  int status;
  std::string why;
};
// The client has gone, or has taken too long where no answer would reach it.
struct Gone {};

const std::map<int, std::string_view> kReasons = {
    {100, "Continue"},
    {200, "OK"},
    {400, "Bad Request"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

// Waits until the socket can be read or written; false when the time is over.
bool wait_for(int socket, short event, Clock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      return false;
    }
    pollfd one = {socket, event, 0};
    const int found = poll(&one, 1, static_cast<int>(std::min<long long>(left, 60'000)));
    if (found > 0) {
      return true;
    }
    if (found < 0 && errno != EINTR) {
      throw Gone{};
    }
  }
}

void send_all(int socket, std::string_view text, Clock::time_point deadline) {
  while (!text.empty()) {
    const auto sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
      if (!wait_for(socket, POLLOUT, deadline)) {
        throw Gone{};
      }
    } else {
      throw Gone{};
    }
  }
}

std::string lower(std::string_view text) {
  std::string found(text);
  std::transform(found.begin(), found.end(), found.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return found;
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<std::size_t> number_in(std::string_view text, int base) {
  std::size_t found = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return found;
}

std::string decoded(std::string_view path) {
  std::string found;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto code = path[i] == '%' ? number_in(path.substr(i + 1, 2), 16) : std::nullopt;
    found += code ? static_cast<char>(*code) : path[i];
    i += code ? 2 : 0;
  }
  return found;
}

using Headers = std::map<std::string, std::string>;

Headers headers_of(std::string_view text) {
  Headers found;
  while (!text.empty()) {
    const auto end = text.find("\r\n");
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    const auto colon = line.find(':');
    const auto name = line.substr(0, colon);
    if (colon == std::string_view::npos || name.empty() ||
        name.find_first_of(" \t") != std::string_view::npos) {
      throw Refused{400, "The request has a header that is none"};
    }
    if (!found.emplace(lower(name), trimmed(line.substr(colon + 1))).second &&
        (lower(name) == "content-length" || lower(name) == "transfer-encoding")) {
      throw Refused{400, "The request says twice how long it is"};
    }
  }
  return found;
}

std::string value_of(const Headers& headers, const std::string& name) {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

// Bytes of requests that are under way in all connections, given back at the end.
class Share {
 public:
  Share(std::atomic<std::size_t>& all, std::size_t most) : all_(all), most_(most) {}
  ~Share() { all_ -= mine_; }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  void take(std::size_t size) {
    mine_ += size;
    if ((all_ += size) > most_) {
      throw Refused{503, "The server has too much to do: send the request again later"};
    }
  }

 private:
  std::atomic<std::size_t>& all_;
  std::size_t most_;
  std::size_t mine_ = 0;
};

}  // namespace

// What one client sends, one request after the other.
class HttpServer::Connection {
 public:
  Connection(int socket, const Limits& limits) : socket_(socket), limits_(limits) {}

  // The next request without its body; false where the client sends no other.
  bool begin(HttpRequest& request) {
    deadline_ = Clock::now() + limits_.idle;
    std::size_t end = 0;
    while ((end = rest().find("\r\n\r\n")) == std::string::npos) {
      if (rest().size() > limits_.header) {
        throw Refused{431, "The headers of the request are too long"};
      }
      const bool has_begun = !rest().empty();
      if (!more(has_begun)) {
        return false;
      }
    }
    if (end > limits_.header) {
      throw Refused{431, "The headers of the request are too long"};
    }
    const std::string head(rest().substr(0, end));
    at_ += end + 4;
    const auto line_end = std::min(head.find("\r\n"), head.size());
    read_line(std::string_view(head).substr(0, line_end), request);
    headers_ = headers_of(std::string_view(head).substr(std::min(line_end + 2, head.size())));
    const auto wish = lower(value_of(headers_, "connection"));
    keeps_ = is_1_1_ ? wish != "close" : wish == "keep-alive";
    return true;
  }

  // The body of the request that has begun.
  std::string body(Share& share) {
    deadline_ = Clock::now() + limits_.receive;
    const auto encoding = lower(value_of(headers_, "content-encoding"));
    if (!encoding.empty() && encoding != "identity") {
      throw Refused{415, "The request is packed: send it as it is"};
    }
    const auto type = lower(value_of(headers_, "content-type"));
    if (type.starts_with("multipart/")) {
      throw Refused{415, "The request has several parts: send JSON"};
    }
    const auto length = value_of(headers_, "content-length");
    const auto transfer = lower(value_of(headers_, "transfer-encoding"));
    if (!transfer.empty() && !length.empty()) {
      throw Refused{400, "The request says twice how long it is"};
    }
    if (!transfer.empty() && transfer != "chunked") {
      throw Refused{501, "The request is sent in a way that is not known here"};
    }
    std::string found;
    if (!transfer.empty()) {
      welcome();
      while (const auto size = chunk_size()) {
        read(found, size, share);
        if (line() != "") {
          throw Refused{400, "The request has a chunk of another size than it says"};
        }
      }
      std::size_t trailers = 0;
      for (std::string last = line(); !last.empty(); last = line()) {
        if ((trailers += last.size()) > limits_.header) {
          throw Refused{431, "The headers of the request are too long"};
        }
      }
    } else if (!length.empty()) {
      const auto size = number_in(length, 10);
      if (!size) {
        throw Refused{400, "The length of the request is no number"};
      }
      check(*size);
      welcome();
      read(found, *size, share);
    }
    return found;
  }

  void answer(int status, const std::string& content, bool is_last, bool has_content = true) {
    const auto reason = kReasons.find(status);
    std::string head = "HTTP/1.1 " + std::to_string(status) + ' ';
    head += reason == kReasons.end() ? std::string_view("Status") : reason->second;
    head += "\r\nContent-Type: application/json\r\nContent-Length: ";
    head += std::to_string(content.size());
    head += is_last ? "\r\nConnection: close\r\n\r\n" : "\r\nConnection: keep-alive\r\n\r\n";
    const auto deadline = Clock::now() + limits_.send;
    send_all(socket_, head, deadline);
    if (has_content) {
      send_all(socket_, content, deadline);
    }
  }

  // Lets a client that still sends read its answer, which a closed connection would take from it.
  void linger() {
    shutdown(socket_, SHUT_WR);
    const auto deadline = Clock::now() + kLinger;
    std::string dropped(kBlock, '\0');
    while (wait_for(socket_, POLLIN, deadline)) {
      if (recv(socket_, dropped.data(), dropped.size(), MSG_DONTWAIT) <= 0) {
        return;
      }
    }
  }

  bool keeps() const { return keeps_; }

 private:
  void read_line(std::string_view line, HttpRequest& request) {
    const auto first = line.find(' ');
    const auto last = line.rfind(' ');
    if (first == std::string_view::npos || last == first) {
      throw Refused{400, "This is no request of HTTP"};
    }
    const auto version = line.substr(last + 1);
    is_1_1_ = version == "HTTP/1.1";
    if (!is_1_1_ && version != "HTTP/1.0") {
      const bool is_http = version.starts_with("HTTP/");
      throw Refused{is_http ? 505 : 400, "This is no request of HTTP/1.1"};
    }
    const auto target = line.substr(first + 1, last - first - 1);
    request.method = line.substr(0, first);
    request.path = decoded(target.substr(0, target.find('?')));
  }

  void check(std::size_t size) const {
    if (size > limits_.body) {
      throw Refused{413, "The request is too large: at most " + std::to_string(limits_.body) +
                             " bytes are read"};
    }
  }

  void welcome() {
    if (lower(value_of(headers_, "expect")) == "100-continue") {
      send_all(socket_, "HTTP/1.1 100 Continue\r\n\r\n", deadline_);
    }
  }

  // Appends what there is; false where the client has closed. `has_begun`: it owes the rest.
  bool more(bool has_begun) {
    if (!wait_for(socket_, POLLIN, deadline_)) {
      if (has_begun) {
        throw Refused{408, "The request did not come in time"};
      }
      return false;
    }
    buffer_.erase(0, std::exchange(at_, 0));
    const auto old = buffer_.size();
    buffer_.resize(old + kBlock);
    const auto got = recv(socket_, buffer_.data() + old, kBlock, MSG_DONTWAIT);
    buffer_.resize(old + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
      return true;
    }
    if (got > 0) {
      return true;
    }
    if (got == 0 && !has_begun) {
      return false;
    }
    throw Gone{};
  }

  std::string line() {
    std::size_t end = 0;
    while ((end = rest().substr(0, kLongestLine).find("\r\n")) == std::string::npos) {
      if (rest().size() > kLongestLine) {
        throw Refused{400, "The request has a chunk without a size"};
      }
      more(true);
    }
    std::string found(rest().substr(0, end));
    at_ += end + 2;
    return found;
  }

  std::size_t chunk_size() {
    const auto text = line();
    const auto size = number_in(trimmed(std::string_view(text).substr(0, text.find(';'))), 16);
    if (!size) {
      throw Refused{400, "The request has a chunk without a size"};
    }
    check(*size);
    return *size;
  }

  // Appends `size` bytes; what was not received takes no memory, whatever the client promises.
  void read(std::string& to, std::size_t size, Share& share) {
    check(to.size() + size);
    while (size > 0) {
      if (rest().empty()) {
        more(true);
        continue;
      }
      const auto part = std::min(size, rest().size());
      share.take(part);
      to.append(rest().substr(0, part));
      at_ += part;
      size -= part;
    }
  }

  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }

  int socket_;
  const Limits& limits_;
  Clock::time_point deadline_;
  std::string buffer_;
  std::size_t at_ = 0;  // where in the buffer what was not read yet begins
  Headers headers_;
  bool is_1_1_ = true;
  bool keeps_ = true;
};

HttpServer::HttpServer(Handler handler, Refusal refusal, Limits limits)
    : handler_(std::move(handler)), refusal_(std::move(refusal)), limits_(limits) {
  if (pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
}

HttpServer::~HttpServer() {
  for (const int one : {listener_, wake_[0], wake_[1]}) {
    if (one >= 0) {
      close(one);
    }
  }
}

int HttpServer::bind(const std::string& host, int port) {
  addrinfo wanted = {};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) {
    throw std::system_error(EADDRNOTAVAIL, std::generic_category());
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const auto* one = found; one != nullptr; one = one->ai_next) {
    const int made = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    if (made >= 0 && setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        ::bind(made, one->ai_addr, one->ai_addrlen) == 0 && listen(made, SOMAXCONN) == 0) {
      listener_ = made;
      sockaddr_storage name = {};
      socklen_t size = sizeof name;
      getsockname(made, reinterpret_cast<sockaddr*>(&name), &size);
      return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(name).sin6_port
                                              : reinterpret_cast<sockaddr_in&>(name).sin_port);
    }
    error = errno;
    if (made >= 0) {
      close(made);
    }
  }
  throw std::system_error(error, std::generic_category());
}

void HttpServer::serve() {
  while (!is_stopping_) {
    pollfd two[] = {{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (poll(two, 2, -1) > 0 && (two[0].revents & POLLIN) != 0) {
      accept_one();
    }
  }
  std::unique_lock lock(mutex_);
  for (const int socket : open_) {
    shutdown(socket, SHUT_RD);  // no other request; what runs is answered
  }
  ended_.wait(lock, [&] { return open_.empty(); });
}

void HttpServer::stop() {
  is_stopping_ = true;
  [[maybe_unused]] const auto written = write(wake_[1], "", 1);
}

void HttpServer::accept_one() {
  const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {  // the client waits meanwhile
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return;
  }
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const std::lock_guard lock(mutex_);
  bool is_full = open_.size() >= limits_.connections;
  if (!is_full) {
    open_.insert(socket);
    try {
      std::thread([this, socket] { converse(socket); }).detach();
    } catch (const std::system_error&) {  // no thread is to be had
      open_.erase(socket);
      is_full = true;
    }
  }
  if (is_full) {
    const auto content = refusal_("The server has too many connections: try again later");
    const auto text = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
                      "Connection: close\r\nContent-Length: " +
                      std::to_string(content.size()) + "\r\n\r\n" + content;
    [[maybe_unused]] const auto sent =
        ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    close(socket);
  }
}

void HttpServer::converse(int socket) {
  try {
    Connection connection(socket, limits_);
    try {
      HttpRequest request;
      while (!is_stopping_ && connection.begin(request)) {
        Share share(bodies_, limits_.bodies);
        request.body = connection.body(share);
        const auto response = handler_(request);
        const bool is_last = is_stopping_ || !connection.keeps();
        connection.answer(response.status, response.body, is_last, request.method != "HEAD");
        if (is_last) {
          break;
        }
        request = {};
      }
    } catch (const Refused& error) {
      connection.answer(error.status, refusal_(error.why), true);
      connection.linger();
    } catch (const std::bad_alloc&) {
      connection.answer(503, refusal_("There is no memory for the request"), true);
      connection.linger();
    }
  } catch (const Gone&) {  // nobody is there who could be told
  } catch (const std::exception&) {  // no memory even for that answer
  }
  const std::lock_guard lock(mutex_);
  open_.erase(socket);  // before another connection gets the number
  close(socket);
  ended_.notify_all();
}

}  // namespace $namespace
