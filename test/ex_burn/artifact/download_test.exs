defmodule ExBurn.Artifact.DownloadTest do
  use ExUnit.Case, async: true

  alias ExBurn.Artifact.Download
  alias ExBurn.HttpServer

  # Large enough to come in many parts.
  @bytes :binary.copy("library", 100_000)

  defp serve(handler, id \\ HttpServer) do
    server = start_supervised!({HttpServer, handler}, id: id)
    {server, HttpServer.url(server)}
  end

  defp get(url, options \\ []) do
    Download.get(url, Keyword.merge([pause: 1, silence: 200, env: %{}], options))
  end

  test "what is served comes back" do
    {_server, url} = serve(fn "/a" <> _, 1 -> {:ok, @bytes} end)
    assert get(url <> "/a.tar.gz") == {:ok, @bytes}
  end

  test "a redirect is followed, and takes the headers along to the same host only" do
    {other, url} = serve(fn "/b", 1 -> {:ok, "library"} end, :other)
    location = String.replace(url, "127.0.0.1", "localhost") <> "/b"

    {server, url} =
      serve(fn
        "/a", 1 -> {:status, 302, "/here"}
        "/here", 1 -> {:status, 307, location}
      end)

    assert get(url <> "/a", headers: [{"x-token", "secret"}]) == {:ok, "library"}

    assert [{"/a", %{"x-token" => "secret"}}, {"/here", %{"x-token" => "secret"}}] =
             HttpServer.requests(server)

    assert [{"/b", headers}] = HttpServer.requests(other)
    refute headers["x-token"]
  end

  test "a redirect without end is an error" do
    {_server, url} = serve(fn "/a", _count -> {:status, 302, "/a"} end)
    assert {:error, "the server redirects without end"} = get(url <> "/a")
  end

  test "a connection that is cut is tried again" do
    {_server, url} =
      serve(fn _path, count -> if count < 3, do: {:cut, @bytes}, else: {:ok, @bytes} end)

    assert get(url <> "/a") == {:ok, @bytes}
  end

  test "a connection that is always cut is an error" do
    {server, url} = serve(fn _path, _count -> {:cut, @bytes} end)
    assert {:error, message} = get(url <> "/a")
    assert message =~ "cut after"
    assert message =~ "tried 3 times"
    assert length(HttpServer.requests(server)) == 3
  end

  test "a silent server is an error, after a while" do
    {_server, url} = serve(fn _path, _count -> :stall end)
    assert {:error, message} = get(url <> "/a", attempts: 2)
    assert message =~ "silent"
    assert message =~ "tried 2 times"
  end

  test "a busy server is tried again, what is missing isn't" do
    {_server, url} =
      serve(fn _path, count -> if count == 1, do: {:status, 503}, else: {:ok, "library"} end)

    assert get(url <> "/a") == {:ok, "library"}

    {server, url} = serve(fn _path, _count -> {:status, 404} end, :other)
    assert {:error, message} = get(url <> "/a")
    assert message =~ "status 404"
    assert length(HttpServer.requests(server)) == 1
  end

  test "a server that isn't there is an error" do
    {:ok, socket} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
    {:ok, port} = :inet.port(socket)
    :gen_tcp.close(socket)
    assert {:error, message} = get("http://127.0.0.1:#{port}/a")
    assert message =~ "can't be reached: connection refused"
  end

  test "what is no web address is an error" do
    for url <- ["ftp://host/a", "/a", "http://", "no url"] do
      assert {:error, "it is no http:// or https:// URL"} = get(url)
    end
  end

  test "the credentials of a URL are sent as a header" do
    {server, url} = serve(fn "/a", 1 -> {:ok, "library"} end)
    assert get(String.replace(url, "//", "//u:p%40ss@") <> "/a") == {:ok, "library"}
    assert [{_path, %{"authorization" => "Basic dTpwQHNz"}}] = HttpServer.requests(server)
  end

  test "a proxy gets the request, with its credentials unescaped" do
    {server, url} = serve(fn "http://mirror.invalid/a", 1 -> {:ok, "library"} end)
    env = %{"http_proxy" => String.replace(url, "//", "//u:p%40ss@")}
    assert get("http://mirror.invalid/a", env: env) == {:ok, "library"}
    assert [{_url, %{"proxy-authorization" => "Basic dTpwQHNz"}}] = HttpServer.requests(server)
  end

  test "a proxy is asked for a tunnel to what is encrypted" do
    {server, url} = serve(fn "mirror.invalid:443", _count -> {:status, 407} end)
    env = %{"https_proxy" => String.replace(url, "//", "//u:p%40ss@")}
    assert {:error, _message} = get("https://mirror.invalid/a", env: env)

    assert [{_host, %{"proxy-authorization" => "Basic dTpwQHNz"}} | _] =
             HttpServer.requests(server)
  end

  test "no proxy gets what NO_PROXY covers" do
    {server, url} = serve(fn "/a", 1 -> {:ok, "library"} end)
    env = %{"http_proxy" => "http://127.0.0.1:1", "NO_PROXY" => "127.0.0.0/8"}
    assert get(url <> "/a", env: env) == {:ok, "library"}
    assert [{"/a", _headers}] = HttpServer.requests(server)
  end
end
