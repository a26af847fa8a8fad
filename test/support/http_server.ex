defmodule ExBurn.HttpServer do
  @moduledoc """
  An HTTP server on loopback that can also misbehave.

  It answers each request as its handler says, a function of the path and of how often that path
  was asked for, starting at 1:

    * `{:ok, bytes}`
    * `{:status, number}`, or with a location for a redirect `{:status, number, location}`
    * `{:cut, bytes}` - half of the bytes, and then it closes the connection
    * `:stall` - nothing, with the connection left open

  As a proxy, it takes what it is asked for as a whole URL, or as `host:port`, for the path.
  """

  use GenServer

  @doc "Starts a server, linked to the caller."
  def start_link(handler), do: GenServer.start_link(__MODULE__, handler)

  @doc "The server's URL, without a path."
  def url(server), do: "http://127.0.0.1:#{GenServer.call(server, :port)}"

  @doc "Answers from here on as another handler says."
  def handle(server, handler), do: GenServer.call(server, {:handle, handler})

  @doc "The requests so far as `{path, headers}`, the names of headers in lower case."
  def requests(server), do: GenServer.call(server, :requests)

  @impl true
  def init(handler) do
    options = [:binary, packet: :http_bin, active: false, reuseaddr: true, ip: {127, 0, 0, 1}]
    {:ok, socket} = :gen_tcp.listen(0, options)
    server = self()
    spawn_link(fn -> accept(socket, server) end)
    {:ok, %{socket: socket, handler: handler, requests: []}}
  end

  @impl true
  def handle_call(:port, _from, state) do
    {:ok, port} = :inet.port(state.socket)
    {:reply, port, state}
  end

  def handle_call(:requests, _from, state), do: {:reply, Enum.reverse(state.requests), state}

  def handle_call({:handle, handler}, _from, state) do
    {:reply, :ok, %{state | handler: handler, requests: []}}
  end

  def handle_call({:request, {path, _headers} = request}, _from, state) do
    requests = [request | state.requests]
    count = Enum.count(requests, &(elem(&1, 0) == path))
    {:reply, state.handler.(path, count), %{state | requests: requests}}
  end

  defp accept(listener, server) do
    {:ok, socket} = :gen_tcp.accept(listener)
    pid = spawn(fn -> receive(do: (:go -> serve(socket, server))) end)
    :ok = :gen_tcp.controlling_process(socket, pid)
    send(pid, :go)
    accept(listener, server)
  end

  defp serve(socket, server) do
    with {:ok, {:http_request, _method, path, _version}} <- :gen_tcp.recv(socket, 0) do
      request = {path(path), headers(socket, %{})}
      answer(GenServer.call(server, {:request, request}), socket)
    end
  end

  defp path({:abs_path, path}), do: path
  defp path({:scheme, host, port}), do: "#{host}:#{port}"
  defp path({:absoluteURI, scheme, host, _port, path}), do: "#{scheme}://#{host}#{path}"

  defp headers(socket, headers) do
    case :gen_tcp.recv(socket, 0) do
      {:ok, {:http_header, _, name, _, value}} ->
        headers(socket, Map.put(headers, String.downcase(to_string(name)), value))

      {:ok, :http_eoh} ->
        headers
    end
  end

  defp answer({:ok, bytes}, socket), do: send_and_close(socket, 200, byte_size(bytes), "", bytes)
  defp answer({:status, status}, socket), do: send_and_close(socket, status, 0, "", "")

  defp answer({:status, status, location}, socket) do
    send_and_close(socket, status, 0, "location: #{location}\r\n", "")
  end

  defp answer({:cut, bytes}, socket) do
    half = binary_part(bytes, 0, div(byte_size(bytes), 2))
    send_and_close(socket, 200, byte_size(bytes), "", half)
  end

  # Until the client gives up.
  defp answer(:stall, socket) do
    :inet.setopts(socket, packet: :raw)
    :gen_tcp.recv(socket, 0)
  end

  defp send_and_close(socket, status, length, headers, body) do
    head =
      "HTTP/1.1 #{status} -\r\ncontent-length: #{length}\r\nconnection: close\r\n#{headers}\r\n"

    :gen_tcp.send(socket, [head, body])
    :gen_tcp.shutdown(socket, :write)
    :gen_tcp.close(socket)
  end
end
