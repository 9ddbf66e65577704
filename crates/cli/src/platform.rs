// SPDX-License-Identifier: GPL-2.0-only
use std::path::Path;

use idlewise_platform::{Platform, PlatformError, Roots, Severity, find, find_states, shipped};
use idlewise_report::{Format, Report};
use idlewise_view as view;

use crate::args::{PlatformArgs, PlatformCommand};
use crate::output::{Done, Failure, say, say_line};

pub(crate) fn run(a: &PlatformArgs) -> Done {
    match &a.what {
        PlatformCommand::List => list(),
        PlatformCommand::Show { platform, toml } => show(platform, *toml),
        PlatformCommand::Check { platforms } => check(platforms),
        PlatformCommand::Scan => scan(),
    }
}

fn get(name: &str) -> Result<Platform, Failure> {
    find(name).map_err(|e| Failure::Error(e.to_string()))
}

fn list() -> Done {
    let all = shipped().iter().map(|(id, _)| get(id)).collect::<Result<Vec<_>, _>>()?;
    print(&view::platforms(&all))
}

fn show(name: &str, toml: bool) -> Done {
    let p = match find(name) {
        Ok(p) => p,
        // It shows too little for a machine to be simulated, and something to people.
        Err(why @ PlatformError::Dump { .. }) if !toml => {
            let Ok(dump) = find_states(name) else { return Err(Failure::Error(why.to_string())) };
            return print(&view::states(name, &dump, &why.to_string()));
        }
        Err(why) => return Err(Failure::Error(why.to_string())),
    };
    if toml {
        say(&p.to_toml())?;
        return Ok(true);
    }
    print(&view::platform(&p))
}

fn print(report: &Report) -> Done {
    say(&report.render(Format::Table, &()).map_err(|e| e.to_string())?)?;
    Ok(true)
}

fn check(names: &[String]) -> Done {
    let mut sound = true;
    for name in names {
        let findings = get(name)?.check();
        view::findings(name, &findings).iter().try_for_each(|line| say_line(line))?;
        sound &= findings.iter().all(|f| f.severity != Severity::Warning);
    }
    Ok(sound)
}

fn scan() -> Done {
    let p = Platform::scan(&Roots::below(Path::new("/"))).map_err(|e| e.to_string())?;
    say(&p.to_toml())?;
    Ok(true)
}
