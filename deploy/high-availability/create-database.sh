#!/bin/sh
# /etc/patroni/create-database.sh: Patroni runs this once, on the first primary
# of a new cluster, with the connection string of its superuser.
set -eu
exec psql --no-psqlrc --set=ON_ERROR_STOP=1 --set=password="$ALLSWELL_DATABASE_PASSWORD" "$1" <<'SQL'
CREATE ROLE allswell LOGIN PASSWORD :'password';
CREATE DATABASE allswell OWNER allswell;
SQL
