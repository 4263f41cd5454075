//! The real program on input that was made to break it: every run ends within bounds of memory and time, with a
//! message that names the place.

#![cfg(unix)]
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Chart, Run, archive, gzip, header};

/// Address space in kilobytes that a run gets, and its time. The program's own limits come far earlier; a machine under
/// load and a build without optimisations take longer.
const MEMORY: usize = 3_000_000;
const SECONDS: u64 = 60;

#[test]
fn templates_come_to_an_end() {
    let many_variables: String = (0..5_000).map(|i| format!("{{{{ $v{i} := 1 }}}}")).collect();
    let arguments = "$s ".repeat(500);
    let out_of_time = "the render ran out of time";
    let memory = "the render passed its memory limit (1073741824)";
    let cases: &[(&str, &str, &str)] = &[
        ("an endless loop", "{{ range 9223372036854775807 }}{{ end }}", out_of_time),
        ("slow functions", "{{ range 9223372036854775807 }}{{ $_ := bcrypt \"x\" }}{{ end }}", out_of_time),
        (
            "slow functions on long texts",
            "{{ $s := repeat 3000000 \"a\" }}{{ range 9223372036854775807 }}{{ $_ := regexMatch \"(a|aa)+$\" $s }}{{ end }}",
            out_of_time,
        ),
        (
            "a template that includes itself",
            "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}",
            "rendering template has a nested reference name: a: unable to execute template",
        ),
        (
            "a template that executes itself",
            "{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}",
            "exceeded maximum template depth (100000)",
        ),
        ("a text that renders itself", "{{ tpl .Values.t . }}", "the render passed its depth limit (150000)"),
        (
            "variables of templates in templates",
            "{{ template \"a\" . }}{{ define \"a\" }}VARS{{ template \"a\" . }}{{ end }}",
            memory,
        ),
        (
            "loops over a map in loops over a map",
            "{{ define \"a\" }}{{ range $k, $v := .m }}{{ template \"a\" $ }}{{ end }}{{ end }}\
             {{ $m := dict }}{{ range $i, $_ := until 20000 }}{{ $_ := set $m (toString $i) 1 }}{{ end }}\
             {{ template \"a\" (dict \"m\" $m) }}",
            memory,
        ),
        (
            "gigabytes of output",
            "{{ $s := repeat 10000000 \"x\" }}{{ range 9223372036854775807 }}{{ $s }}{{ end }}",
            "the render passed its output bytes limit (268435456)",
        ),
        (
            "gigabytes in one list",
            "{{ $l := list (repeat 10000000 \"x\") }}{{ range until 10 }}{{ $l = list $l $l $l $l }}{{ end }}{{ $l }}",
            "the render passed its output bytes limit (268435456)",
        ),
        (
            "gigabytes by widths",
            "{{ $_ := printf (repeat 100000 \"%1000000[1]d\") 1 }}",
            "the render passed its text limit (536870912)",
        ),
        (
            "gigabytes by arguments",
            "{{ $s := repeat 10000000 \"x\" }}{{ $_ := print ARGUMENTS }}",
            "the render passed its text limit (536870912)",
        ),
        ("a file line by line", "{{ range until 10000 }}{{ $_ := $.Files.Lines \"big\" }}{{ end }}", memory),
        (
            "a file as numbers",
            "{{ $b := .Files.GetBytes \"big\" }}{{ range until 1000 }}{{ $_ := reverse $b }}{{ end }}",
            memory,
        ),
        (
            "JSON that is small as a text",
            "{{ $_ := fromJsonArray (print \"[\" (repeat 20000000 \"[],\") \"1]\") }}",
            memory,
        ),
        ("a text in parts", "{{ $_ := splitList \",\" (repeat 50000000 \",\") }}", memory),
        ("all matches of a pattern", "{{ $_ := regexFindAll \"a\" (repeat 40000000 \"a\") -1 }}", memory),
        ("numbers", "{{ $_ := until 1000000000 }}", memory),
        (
            "an index out of range",
            "a: b\nc: {{ index (list 1 2) 7 }}",
            "c/templates/a.yaml:2:6: executing \"c/templates/a.yaml\" at <index (list 1 2) 7>: error calling index: index out of range: 7",
        ),
        (
            "a division by zero",
            "a: b\nc: {{ div 1 0 }}",
            "c/templates/a.yaml:2:6: executing \"c/templates/a.yaml\" at <div 1 0>: error calling div: runtime error: integer divide by zero",
        ),
    ];
    let mut wrong = Vec::new();
    for (name, template, message) in cases {
        let template = template.replace("VARS", &many_variables).replace("ARGUMENTS", &arguments);
        let chart = Chart::new(&format!("t-{}", name.replace(' ', "-")))
            .file("templates/a.yaml", &template)
            .file("values.yaml", "t: '{{ tpl .Values.t . }}'\n")
            .file("big", "x\n".repeat(1_000_000));
        let run = Run::new(&chart.path, &["--max-seconds", "2"], MEMORY, SECONDS);
        let shown = run.errors.get(..run.errors.len().min(2_000)).unwrap_or_default().to_owned();
        // A slow machine gets there later.
        let told = run.errors.contains(message) || *message == memory && run.errors.contains(out_of_time);
        if run.status != Some(1) || !told || !run.errors.contains("c/templates/a.yaml") {
            wrong.push(format!("{name}: {:?} {shown}", run.status));
        }
        // However deep it was: what is told about a limit of ours can be read.
        if run.errors.contains("the render ") && run.errors.len() > 200_000 {
            wrong.push(format!("{name}: the message has {} bytes", run.errors.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_limit_says_what_to_do() {
    let chart = Chart::new("advice").file("templates/a.yaml", "{{ range 9223372036854775807 }}{{ end }}");
    let run = Run::new(&chart.path, &["--max-seconds", "1"], MEMORY, SECONDS);
    assert!(run.errors.contains("or allow more time with --max-seconds"), "{}", run.errors);
}

#[test]
fn values_files_are_read_or_refused() {
    let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (of, name) in "abcdefgh".chars().zip("bcdefghi".chars()) {
        bomb.push_str(&format!("{name}: &{name} [{}]\n", vec![format!("*{of}"); 9].join(",")));
    }
    let cases: &[(&str, Vec<u8>, Option<&str>)] = &[
        ("bomb", bomb.into_bytes(), Some("yaml: document contains excessive aliasing")),
        ("self", b"a: &a\n  b: *a\n".to_vec(), Some("yaml: anchor 'a' value contains itself")),
        ("utf8", b"a: \"\xFF\"\n".to_vec(), Some("yaml: invalid leading UTF-8 octet")),
        ("utf16", b"\xFF\xFEa\0:\0 \x001\0\n\0".to_vec(), Some("yaml: incomplete UTF-16 character")),
        ("tab", b"a:\n\tb: 1\n".to_vec(), Some("yaml: line 2: found character that cannot start any token")),
        ("nul", b"a: \"x\0y\"\n".to_vec(), Some("yaml: control characters are not allowed")),
        (
            "deep",
            ["a: ", &"[".repeat(100_000)].concat().into_bytes(),
            Some("yaml: exceeded max depth of 10000"),
        ),
        (
            "list",
            b"- a\n".to_vec(),
            Some("json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ),
        ("bom", b"\xEF\xBB\xBFa: 1\n".to_vec(), None),
        ("crlf", b"a: 1\r\nb:\r\n  c: x\r\n".to_vec(), None),
        ("empty", Vec::new(), None),
        ("key", ["? ", &"x".repeat(1_000_000), "\n: 1\n"].concat().into_bytes(), None),
    ];
    let chart = Chart::new("values").file("templates/a.yaml", "a: {{ .Values.a | toJson }}");
    for (name, text, message) in cases {
        let path = chart.path.join(format!("{name}.yaml"));
        std::fs::write(&path, text).unwrap();
        let run = Run::new(&chart.path, &["-f", path.to_str().unwrap()], MEMORY, SECONDS);
        match message {
            Some(message) => {
                let place = format!("Error: failed to parse {}: ", path.display());
                assert_eq!(run.status, Some(1), "{name}");
                assert!(
                    run.errors.starts_with(&place) && run.errors.contains(message),
                    "{name}: {}",
                    run.errors
                );
            }
            None => assert_eq!((run.status, run.errors.as_str()), (Some(0), ""), "{name}"),
        }
    }
}

#[test]
fn flags_of_values_have_bounds() {
    let chart = Chart::new("flags").file("templates/a.yaml", "a: b");
    let deep = ["a.".repeat(40_000).as_str(), "b=1"].concat();
    let many = (0..2_000).map(|i| format!("a{i}[65535]=1")).collect::<Vec<_>>().join(",");
    let directory = chart.path.to_str().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["--set", "a[65537]=1"], "index of 65537 is greater than maximum supported index of 65536"),
        (&["--set", "a[-1]=1"], "negative -1 index not allowed"),
        (&["--set", &deep], "value name nested level is greater than maximum supported nested level of 30"),
        (&["--set", &many], "one line cannot create more than 1048576 list entries"),
        (&["--set", "a={1,2"], "list must terminate with '}'"),
        (&["-f", directory], "is a directory"),
        (&["-f", "/dev/zero"], "read /dev/zero: file is larger than 268435456 bytes"),
        (&["--set-file", "a=/dev/zero"], "read /dev/zero: file is larger than 268435456 bytes"),
        (&["-f", "/nowhere/values.yaml"], "open /nowhere/values.yaml: no such file or directory"),
    ];
    for (flags, message) in cases {
        let run = Run::new(&chart.path, flags, MEMORY, SECONDS);
        assert_eq!(run.status, Some(1), "{message}");
        assert!(
            run.errors.starts_with("Error: ") && run.errors.contains(message),
            "{message}: {}",
            run.errors
        );
    }
    assert_eq!(Run::new(&chart.path, &["--set", "a[65536]=1", "-f", "-"], MEMORY, SECONDS).status, Some(0));
}

#[test]
fn directories_with_anything_in_them_are_read_or_refused() {
    let irregular = "as it has file mode type bits set";
    let fifo = |chart: &Chart, name: &str| {
        let path = chart.path.join(name);
        let _ = std::fs::remove_file(&path);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    };
    let link = |chart: &Chart, to: &str, name: &str| {
        let path = chart.path.join(name);
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(to, path).unwrap();
    };
    type Make<'a> = &'a dyn Fn(&Chart);
    let cases: &[(&str, Make<'_>, &str)] = &[
        ("pipe", &|c| fifo(c, "templates/p"), irregular),
        ("pipe-as-chart-yaml", &|c| fifo(c, "Chart.yaml"), irregular),
        ("pipe-as-helmignore", &|c| fifo(c, ".helmignore"), irregular),
        ("device", &|c| link(c, "/dev/zero", "z"), irregular),
        ("device-as-chart-yaml", &|c| link(c, "/dev/zero", "Chart.yaml"), irregular),
        (
            "socket",
            &|c| {
                let path = c.path.join("s");
                let _ = std::fs::remove_file(&path);
                std::os::unix::net::UnixListener::bind(path).unwrap();
            },
            irregular,
        ),
        ("link-to-itself", &|c| link(c, "l", "l"), "EvalSymlinks: too many links"),
        (
            "link-around",
            &|c| link(c, ".", "templates/l"),
            "which contains it; remove the link or list it in .helmignore",
        ),
        (
            "links-across",
            &|c| {
                let _ = std::fs::create_dir(c.path.join("x"));
                let _ = std::fs::create_dir(c.path.join("y"));
                link(c, "../y", "x/y");
                link(c, "../x", "y/x");
            },
            "EvalSymlinks: too many links",
        ),
        ("link-to-nothing", &|c| link(c, "nothing", "l"), "no such file or directory"),
        (
            "broken-subchart",
            &|c| c.write("charts/s-1.0.0.tgz", b"\x1F\x8B\x08\0x"),
            "error unpacking subchart s-1.0.0.tgz in c: unexpected EOF",
        ),
        (
            "no-subchart",
            &|c| c.write("charts/s-1.0.0.tgz", b"x"),
            "error unpacking subchart s-1.0.0.tgz in c: ",
        ),
        (
            "name-with-slashes",
            &|c| c.write("Chart.yaml", b"apiVersion: v2\nname: ../../etc\nversion: 1.0.0\n"),
            "chart.metadata.name \"../../etc\" is invalid",
        ),
        (
            "missing-dependency",
            &|c| {
                c.write(
                    "Chart.yaml",
                    b"apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies: [{name: d, version: 1.0.0}]\n",
                )
            },
            "found in Chart.yaml, but missing in charts/ directory: d",
        ),
        (
            "remote-schema",
            &|c| c.write("values.schema.json", br#"{"$ref": "https://example.invalid/s.json"}"#),
            "failing loading \"https://example.invalid/s.json\": references to other documents are not followed",
        ),
        (
            "schema-of-a-file",
            // Helm follows it as well; it has to be a document.
            &|c| c.write("values.schema.json", br#"{"$ref": "file:///etc/passwd"}"#),
            "failing loading \"file:///etc/passwd\": invalid character 'r' looking for beginning of value",
        ),
        (
            "schema-without-end",
            &|c| c.write("values.schema.json", br#"{"$ref": "file:///dev/zero"}"#),
            "failing loading \"file:///dev/zero\": ",
        ),
        (
            "endless-schema",
            &|c| {
                let level = |i| {
                    format!(
                        r##""d{i}": {{"allOf": [{{"$ref": "#/$defs/d{n}"}}, {{"$ref": "#/$defs/d{n}"}}]}}"##,
                        n = i + 1
                    )
                };
                let levels: Vec<String> = (0..60).map(level).collect();
                let schema =
                    format!(r##"{{"$ref": "#/$defs/d0", "$defs": {{{}, "d60": {{}}}}}}"##, levels.join(","));
                c.write("values.schema.json", schema.as_bytes());
            },
            "schema takes too many steps",
        ),
        (
            "aliases-of-aliases",
            &|c| {
                let mut place = String::new();
                for level in 0..12 {
                    let aliases: String = ('a'..'i')
                        .map(|a| format!("- {{name: n{}, version: 1.0.0, alias: n{a}}}\n", level + 1))
                        .collect();
                    let chart =
                        format!("apiVersion: v2\nname: n{level}\nversion: 1.0.0\ndependencies:\n{aliases}");
                    c.write(&format!("{place}Chart.yaml"), chart.as_bytes());
                    place = format!("{place}charts/n{}/", level + 1);
                }
                c.write(&format!("{place}Chart.yaml"), b"apiVersion: v2\nname: n12\nversion: 1.0.0\n");
            },
            "the chart has more than 50000 subcharts with their aliases",
        ),
    ];
    for (name, make, message) in cases {
        let chart = Chart::new(name).file("templates/a.yaml", "a: b");
        make(&chart);
        let run = Run::new(&chart.path, &[], MEMORY, SECONDS);
        assert_eq!(run.status, Some(1), "{name}: {}", run.errors);
        assert!(run.errors.starts_with("Error: ") && run.errors.contains(message), "{name}: {}", run.errors);
    }
}

#[test]
fn many_small_things_are_no_trouble() {
    let defines: String = (0..20_000).map(|i| format!("{{{{ define \"d{i}\" }}}}x{{{{ end }}}}")).collect();
    let long_line = "x{{ 1 }}".repeat(100_000);
    let chart = Chart::new("many").file("templates/a.yaml", format!("{defines}a: {long_line}"));
    for i in 0..500 {
        chart.write(
            &format!("charts/s{i}/Chart.yaml"),
            format!("apiVersion: v2\nname: s{i}\nversion: 1.0.0\n").as_bytes(),
        );
        chart.write(&format!("charts/s{i}/templates/a.yaml"), b"a: b\n");
    }
    let run = Run::new(&chart.path, &[], MEMORY, SECONDS);
    assert_eq!((run.status, run.errors.as_str()), (Some(0), ""));
}

#[test]
fn archives_are_unpacked_within_bounds() {
    const CHART: &[u8] = b"apiVersion: v2\nname: c\nversion: 1.0.0\n";
    let with = |name: &str, kind: u8| {
        archive(&[("c/Chart.yaml", CHART, b'0'), ("c/templates/a.yaml", b"a: b\n", b'0'), (name, b"", kind)])
    };
    let whole = with("c/x", b'0');
    let mut lying = [header("c/Chart.yaml", CHART.len() as u64, b'0'), CHART.to_vec()].concat();
    lying.resize(1024, 0);
    lying.extend(header("c/big", 10 << 30, b'0'));
    let mut bomb = gzip(&lying);
    let zeros = gzip(&vec![0; 16 << 20]);
    for _ in 0..640 {
        bomb.extend_from_slice(&zeros);
    }
    let empty_files = gzip(&header("c/x", 0, b'0').repeat(500_000));
    let refused = Some("Error: unable to load chart archive");
    let cases: &[(&str, Vec<u8>, Option<&str>)] = &[
        ("whole", whole.clone(), None),
        ("cut", whole.get(..whole.len() / 2).unwrap().to_vec(), refused),
        ("bomb", bomb, refused),
        ("millions", empty_files, refused),
        ("parent", with("c/../../x", b'0'), refused),
        ("drive", with("c/C:/x", b'0'), refused),
        ("symlink", with("c/l", b'2'), None),
        ("hardlink", with("c/l", b'1'), None),
        ("device", with("c/l", b'3'), None),
        ("twice", with("c/templates/a.yaml", b'0'), None),
        ("nothing", archive(&[]), refused),
        (
            "no-chart",
            archive(&[("c/x", b"", b'0')]),
            Some("Error: unable to detect chart version, no Chart.yaml found"),
        ),
        (
            "text",
            b"hello".to_vec(),
            Some("does not appear to be a gzipped archive; got 'application/octet-stream'"),
        ),
    ];
    let directory = Chart::new("archives");
    for (name, bytes, message) in cases {
        let path = directory.path.join(format!("{name}.tgz"));
        std::fs::write(&path, bytes).unwrap();
        let run = Run::new(&path, &[], MEMORY, SECONDS);
        assert_eq!(run.status, Some(i32::from(message.is_some())), "{name}: {}", run.errors);
        assert!(message.is_none_or(|m| run.errors.contains(m)), "{name}: {}", run.errors);
    }
}
