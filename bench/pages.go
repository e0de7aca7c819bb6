package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

const nginxConfig = `
daemon off; worker_processes auto; pid %[1]s/nginx.pid; error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; open_file_cache max=100; gzip_static on;
  client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3; uwsgi_temp_path %[1]s/t4; scgi_temp_path %[1]s/t5;
  types { text/html html; }
  server { listen 127.0.0.1:%[2]s; root %[1]s; }
}
`

// page compares page requests with a bare net/http server that serves the same bytes,
// and with nginx, which serves them from a file.
func (b *bench) page() ([]result, error) {
	dir, err := os.MkdirTemp(b.dir, "page")
	if err != nil {
		return nil, err
	}
	os.Chmod(dir, 0o755)
	os.Chmod(b.dir, 0o755)
	ours, err := b.allswell(filepath.Join(dir, "page.db"))
	if err != nil {
		return nil, err
	}
	defer ours.stop()
	if err := fillPage(ours); err != nil {
		return nil, err
	}
	plain, _, err := fetch(ours.base+"/status/acme", "identity")
	if err != nil {
		return nil, err
	}
	packed, _, err := fetch(ours.base+"/status/acme", "gzip")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "acme.html"), plain, 0o644), os.WriteFile(filepath.Join(dir, "acme.html.gz"), packed, 0o644)); err != nil {
		return nil, err
	}
	nginx, err := b.nginx(dir)
	if err != nil {
		return nil, err
	}
	defer nginx.stop()
	_, theirTag, err := fetch(nginx.base+"/acme.html", "identity")
	if err != nil {
		return nil, err
	}
	bare, err := b.barePage(dir)
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	var out []result
	for _, c := range []struct{ name, ourHeader, theirHeader string }{
		{fmt.Sprintf("plain, %d bytes", len(plain)), "Accept-Encoding: identity", "Accept-Encoding: identity"},
		{fmt.Sprintf("gzip, %d bytes", len(packed)), "Accept-Encoding: gzip", "Accept-Encoding: gzip"},
		{"304", "", "If-None-Match: " + theirTag},
	} {
		var ratios, toBare, rates, references []float64
		for range rounds {
			theirs, err := pageRate(b, nginx.base+"/acme.html", c.theirHeader)
			if err != nil {
				return nil, err
			}
			rate, err := b.ourPageRate(ours.base+"/status/acme", c.ourHeader)
			if err != nil {
				return nil, err
			}
			least, err := pageRate(b, bare.base+"/acme.html", c.theirHeader)
			if err != nil {
				return nil, err
			}
			ratios, rates, references = append(ratios, rate/theirs), append(rates, rate), append(references, least)
			toBare = append(toBare, rate/least)
		}
		out = append(out, result{"Page requests against a bare net/http server with the same bytes, " + c.name, "≥ 0.9",
			fmt.Sprintf("%.2f (%.0f/s against %.0f/s); %.2f of nginx", median(toBare), median(rates), median(references), median(ratios))})
	}
	return out, nil
}

// nginx starts nginx, serving the files of a folder.
func (b *bench) nginx(dir string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConfig, dir, port), 0o644); err != nil {
		return nil, err
	}
	return b.launch(exec.CommandContext(b.ctx, "nginx", "-c", conf, "-p", dir), port, "/acme.html")
}

// barePage starts a process that serves the same bytes with net/http only.
func (b *bench) barePage(dir string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return b.launch(exec.CommandContext(b.ctx, self, "bare", "127.0.0.1:"+port, dir), port, "/acme.html")
}

// servePage runs in the process that barePage starts.
func servePage(addr, dir string) {
	plain, err := os.ReadFile(filepath.Join(dir, "acme.html"))
	packed, bad := os.ReadFile(filepath.Join(dir, "acme.html.gz"))
	if err = errors.Join(err, bad); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/acme.html", func(w http.ResponseWriter, r *http.Request) {
		body := plain
		switch {
		case r.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusNotModified)
			return
		case r.Header.Get("Accept-Encoding") == "gzip":
			w.Header()["Content-Encoding"] = []string{"gzip"}
			body = packed
		}
		w.Header()["Content-Type"] = []string{"text/html"}
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
		w.Write(body)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(addr, mux))
}

// ourPageRate is pageRate for a page of Allswell. Without a header it sends the present entity tag, because a page with
// an incident is rendered every minute.
func (b *bench) ourPageRate(url, header string) (float64, error) {
	if header == "" {
		_, etag, err := fetch(url, "identity")
		if err != nil {
			return 0, err
		}
		header = "If-None-Match: " + etag
	}
	return pageRate(b, url, header)
}

func pageRate(b *bench, url, header string) (float64, error) {
	rate, _, err := b.wrk(64, url, "-H", header)
	return rate, err
}

// fetch returns a body, not decompressed, and its ETag.
func fetch(url, encoding string) ([]byte, string, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Accept-Encoding", encoding) // set explicitly, so that the client does not decompress
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return body, res.Header.Get("ETag"), err
}

// fillPage creates 50 components and a few incidents of a page with the API.
func fillPage(p *process) error {
	post := func(path string, body any) error { return p.ask(http.MethodPost, path, body, nil) }
	type object = map[string]any
	err := post("/api/v1/pages", object{"name": "Acme", "slug": "acme"})
	for i := range 50 {
		err = errors.Join(err, post("/api/v1/pages/acme/components", object{"name": fmt.Sprint("Service ", i), "description": "Does what it says"}))
	}
	for i := range 3 {
		err = errors.Join(err, post("/api/v1/pages/acme/incidents", object{"title": fmt.Sprint("Slow answers ", i), "impact": "minor",
			"message": "We are looking into slow answers in one region."}))
	}
	return err
}
