package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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

const plainField, gzipField = "Accept-Encoding: identity", "Accept-Encoding: gzip"

// page compares page requests, with the access log in a file, with a bare net/http server that sends the same responses
// without a log, with one that sends only three header fields, and with nginx, which serves the body from a file.
func (b *bench) page() ([]result, error) {
	dir, err := os.MkdirTemp(b.dir, "page")
	if err != nil {
		return nil, err
	}
	os.Chmod(dir, 0o755)
	os.Chmod(b.dir, 0o755)
	log, err := os.Create(filepath.Join(dir, "access.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	ours, err := b.serve(log, filepath.Join(dir, "page.db"))
	if err != nil {
		return nil, err
	}
	defer ours.stop()
	if err := fillPage(ours); err != nil {
		return nil, err
	}
	url := ours.base + "/status/acme"
	plain, packed, unmodified, err := recordPage(url)
	if err != nil {
		return nil, err
	}
	err = errors.Join(os.WriteFile(filepath.Join(dir, "acme.html"), plain.Body, 0o644),
		os.WriteFile(filepath.Join(dir, "acme.html.gz"), packed.Body, 0o644))
	if err != nil {
		return nil, err
	}
	nginx, err := b.nginx(dir)
	if err != nil {
		return nil, err
	}
	defer nginx.stop()
	ofNginx, err := record(http.MethodGet, nginx.base+"/acme.html", plainField)
	if err != nil {
		return nil, err
	}
	bare, err := b.bare(plain, packed, unmodified)
	if err != nil {
		return nil, err
	}
	defer bare.stop()
	var out []result
	for _, c := range []struct{ name, ourHeader, theirHeader string }{
		{fmt.Sprintf("plain, %d bytes", len(plain.Body)), plainField, plainField},
		{fmt.Sprintf("gzip, %d bytes", len(packed.Body)), gzipField, gzipField},
		{"304", "", "If-None-Match: " + ofNginx.Header.Get("ETag")},
	} {
		measured, err := b.comparePage(url, bare.base, nginx.base+"/acme.html", c.ourHeader, c.theirHeader)
		if err != nil {
			return nil, err
		}
		out = append(out, result{
			"Page requests with the access log, against a bare net/http server with the same responses and no log, " +
				c.name,
			"≥ 0.9; ≥ 0.75", measured,
		})
	}
	return out, nil
}

// comparePage measures requests of a page of Allswell, of a bare server with all header fields and with three, and of
// nginx, one after the other.
func (b *bench) comparePage(ours, bare, nginx, ourHeader, theirHeader string) (string, error) {
	var ratios, toBare, toFewest, rates, references []float64
	for range rounds {
		theirs, err := pageRate(b, nginx, theirHeader)
		if err != nil {
			return "", err
		}
		rate, err := b.ourPageRate(ours, ourHeader)
		if err != nil {
			return "", err
		}
		least, err := pageRate(b, bare+"/status/acme", theirHeader)
		if err != nil {
			return "", err
		}
		fewest, err := pageRate(b, bare+"/three/acme", theirHeader)
		if err != nil {
			return "", err
		}
		ratios, rates, references = append(ratios, rate/theirs), append(rates, rate), append(references, least)
		toBare, toFewest = append(toBare, rate/least), append(toFewest, rate/fewest)
	}
	return fmt.Sprintf("%.2f (%.0f/s against %.0f/s); %.2f with three header fields; %.2f of nginx",
		median(toBare), median(rates), median(references), median(toFewest), median(ratios)), nil
}

// recordPage returns the responses of a page: plain, compressed and 304.
func recordPage(url string) (plain, packed, unmodified recordedResponse, err error) {
	if plain, err = record(http.MethodGet, url, plainField); err != nil {
		return
	}
	if packed, err = record(http.MethodGet, url, gzipField); err != nil {
		return
	}
	unmodified, err = record(http.MethodGet, url, "If-None-Match: "+plain.Header.Get("ETag"))
	return
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

// ourPageRate is pageRate for a page of Allswell. Without a header it sends the present entity tag, because a page with
// an incident is rendered every minute.
func (b *bench) ourPageRate(url, header string) (float64, error) {
	if header == "" {
		page, err := record(http.MethodGet, url, "")
		if err != nil {
			return 0, err
		}
		header = "If-None-Match: " + page.Header.Get("ETag")
	}
	return pageRate(b, url, header)
}

func pageRate(b *bench, url, header string) (float64, error) {
	rate, _, err := b.wrk(64, url, "-H", header)
	return rate, err
}

// fillPage creates 50 components and a few incidents of a page with the API.
func fillPage(p *process) error {
	post := func(path string, body any) error { return p.ask(http.MethodPost, path, body, nil) }
	type object = map[string]any
	err := post("/api/v1/pages", object{"name": "Acme", "slug": "acme"})
	for i := range 50 {
		err = errors.Join(err,
			post("/api/v1/pages/acme/components", object{
				"name": fmt.Sprint("Service ", i), "description": "Does what it says",
			}))
	}
	for i := range 3 {
		err = errors.Join(err,
			post("/api/v1/pages/acme/incidents", object{"title": fmt.Sprint("Slow answers ", i), "impact": "minor",
				"message": "We are looking into slow answers in one region."}))
	}
	return err
}
