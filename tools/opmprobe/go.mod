module podium.dev/tools/opmprobe

go 1.26.3

require github.com/operator-framework/operator-registry v1.51.0
