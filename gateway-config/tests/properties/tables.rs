//! Configurations made of some of a few tables, in any order.

use proptest::prelude::*;

/// Tables that belong together; any of them may be left out, and their order is free.
pub(crate) const TABLES: &[&str] = &[
    "[listeners.web]\nbind = \"127.0.0.1:8080\"\n",
    "[listeners.tls]\nbind = \"127.0.0.1:8443\"\ntls = \"shop\"\nalpn = [\"h2\"]\n",
    "[tls.shop]\nchain = \"/c.pem\"\nkey = \"/k.pem\"\n",
    "[sites.shop]\nlistener = \"web\"\nhosts = [\"B.example\", \"a.example\"]\npool = \"shop\"\n",
    "[sites.shop.routes.api]\npath = \"/api/\"\nmethods = [\"POST\", \"GET\"]\ntimeouts = { response = \"5s\" }\n",
    "[sites.shop.routes.item]\ntemplate = \"/item/{id}\"\nquery = [\"b\", \"a\"]\nupgrade = true\n",
    "[sites.rest]\nlistener = \"tls\"\npool = \"shop\"\nfailures = \"json\"\n",
    "[pools.shop]\nnodes = [\"10.0.0.1:80\", { addr = \"10.0.0.2:80\", name = \"é\" }]\n",
    "[pools.shop.probe]\nevery = \"5s\"\ntimeout = \"6s\"\n",
    "[pools.other]\nnodes = [\"[::1]:80\"]\nretry = { attempts = 0 }\ntls = { ca = \"/ca.pem\" }\n",
    "[limits]\nbody_memory = \"1 GiB\"\n",
    "[logs]\naccess = \"off\"\n",
    "[drain]\ndeadline = \"1m\"\n",
    "[front_door.db]\nlisten = \"127.0.0.1:7650\"\nupstreams = { a = \"localhost:1\" }\n",
];

/// Any of them.
pub(crate) fn tables() -> impl Strategy<Value = String> {
    prop::sample::subsequence(TABLES, 0..=TABLES.len())
        .prop_shuffle()
        .prop_map(|tables| tables.concat())
}
