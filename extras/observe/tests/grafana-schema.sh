#!/usr/bin/env bash
# grafana-schema.sh: compares the dashboards with Grafana's own types for TypeScript, without Grafana. Needs node, and
# two packages from a registry, which FOLDER keeps (default: a temporary folder). Exit codes: 0 the dashboards fit, 1 they do
# not, 3 the packages cannot be downloaded.
set -euo pipefail
extras=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's|.*grafana/grafana:\([0-9.]*\)}.*|\1|p' "$extras/grafana/compose.yaml")
folder=${FOLDER:-$(mktemp -d)}
cd "$folder"
if [ -z "${FOLDER:-}" ]; then trap 'rm -rf "$folder"' EXIT; fi

if ! [ -d node_modules/@grafana/schema ] || ! [ -d node_modules/typescript ]; then
    if ! reason=$(npm install --loglevel=error --no-fund --no-audit --ignore-scripts "@grafana/schema@$version" typescript@7.0.2 2>&1); then
        echo "The dashboards are not compared with Grafana's types: ${reason%%$'\n'*}" >&2
        exit 3
    fi
fi

# JSON has no enums: an enum of strings becomes its strings. Grafana's editor writes a panel's link with
# title and url, although its type asks for seven keys more.
{
    cat <<'EOF'
import type { Dashboard, DashboardLink } from "@grafana/schema";
type Plain<T> = T extends DashboardLink ? Pick<T, "title" | "url">
    : T extends string ? `${T}`
    : T extends (infer U)[] ? Plain<U>[]
    : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
EOF
    for file in "$extras"/observe/page/dashboards/*.json; do
        echo "export const $(basename "$file" .json): Plain<Dashboard> = $(cat "$file");"
    done
} >check.ts
npx tsc --noEmit --strict --module esnext --moduleResolution bundler --skipLibCheck check.ts
