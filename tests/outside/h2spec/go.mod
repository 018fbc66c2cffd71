module outside

go 1.19

require (
	github.com/fatih/color v1.16.0
	github.com/spf13/cobra v1.8.0
	github.com/summerwind/h2spec v2.2.1+incompatible
	golang.org/x/net v0.17.0
)
