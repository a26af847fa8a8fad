defmodule ExBurn.Artifact.ProxyTest do
  use ExUnit.Case, async: true
  doctest ExBurn.Artifact.Proxy

  alias ExBurn.Artifact.Proxy

  defp proxy(url, env) do
    with {:ok, %{host: host, port: port}} <- Proxy.for_url(url, env), do: {host, port}
  end

  test "each scheme has its variables, and the lower case goes first" do
    env = %{
      "https_proxy" => "http://a:1",
      "HTTPS_PROXY" => "http://b:2",
      "all_proxy" => "http://c:3"
    }

    assert proxy("https://host/", env) == {"a", 1}
    assert proxy("https://host/", Map.delete(env, "https_proxy")) == {"b", 2}
    assert proxy("http://host/", env) == {"c", 3}
  end

  test "HTTP_PROXY in capitals isn't trusted" do
    assert Proxy.for_url("http://host/", %{"HTTP_PROXY" => "http://a:1"}) == {:ok, nil}
  end

  test "an empty variable is none" do
    env = %{"https_proxy" => "", "HTTPS_PROXY" => "", "http_proxy" => "", "no_proxy" => ""}
    assert Proxy.for_url("https://host/", env) == {:ok, nil}
    assert proxy("https://host/", Map.put(env, "all_proxy", "http://a:1")) == {"a", 1}
  end

  test "scheme and port may be missing" do
    assert proxy("https://host/", %{"https_proxy" => "proxy.corp:3128"}) == {"proxy.corp", 3128}
    assert proxy("https://host/", %{"https_proxy" => "proxy.corp"}) == {"proxy.corp", 1080}

    assert proxy("https://host/", %{"https_proxy" => "http://proxy.corp/"}) ==
             {"proxy.corp", 1080}
  end

  test "a proxy of another kind is refused" do
    for kind <- ["socks5", "https"] do
      assert {:error, message} = Proxy.for_url("https://host/", %{"all_proxy" => "#{kind}://a:1"})
      assert message =~ "#{kind}://"
    end
  end

  test "NO_PROXY names hosts, domains, addresses and ranges" do
    for {entry, host} <- [
          {"*", "github.com"},
          {"github.com", "github.com"},
          {".github.com", "github.com"},
          {"a.org, GitHub.com", "api.github.COM"},
          {"127.0.0.1", "127.0.0.1"},
          {"10.0.0.0/8", "10.200.3.4"},
          {"fe80::/10", "[fe80::1]"}
        ] do
      env = %{"https_proxy" => "http://a:1", "NO_PROXY" => entry}
      assert Proxy.for_url("https://#{host}/x", env) == {:ok, nil}, "#{entry} covers #{host}"
    end

    for {entry, host} <- [
          {"hub.com", "github.com"},
          {"github.com", "github.com.evil.org"},
          {"10.0.0.0/8", "11.0.0.1"},
          {"10.0.0.0/99", "10.0.0.1"},
          {"::/0", "10.0.0.1"},
          {"10.0.0.0/8", "ten.org"}
        ] do
      env = %{"https_proxy" => "http://a:1", "NO_PROXY" => entry}
      assert proxy("https://#{host}/x", env) == {"a", 1}, "#{entry} doesn't cover #{host}"
    end
  end
end
