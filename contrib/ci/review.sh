#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What a branch of a kernel tree does to idle governors: review.sh FROM..TO RECORDINGS [OPTION...]
#
# Run it in the tree. The table goes to standard output as Markdown, and to the summary of the job where a CI has one; JSON and a page
# with all numbers go to files called idlewise-review. The exit status is 1 if a patch breaks a property, makes something worse, does
# not apply or does not compile; 2 if something else keeps it from being judged. A branch that changes no governor passes.
set -eu

range=${1:?usage: review.sh FROM..TO RECORDINGS [OPTION...]}
recordings=${2:?usage: review.sh FROM..TO RECORDINGS [OPTION...]}
shift 2
if git diff --quiet "${range%%..*}" "${range##*..}" -- drivers/cpuidle/governors 'drivers/cpuidle/*.h'; then
	echo "No governor changes in $range."
	exit 0
fi
to=idlewise-review status=0
rm -f "${to}.md" "$to.json" "$to.html"
idlewise review "$range" --base . --recordings "$recordings" --fail-if 'new_findings > 0' --fail-if 'worse > 0' \
	--fail-if 'problems > 0' --output "${to}.md" --also "$to.json" --report "$to.html" \
	"$@" || status=$?
[ ! -e "${to}.md" ] || tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}" <"${to}.md"
exit "$status"
