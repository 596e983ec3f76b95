/*
 * app/report/page.c: head, style and script around the sections of an HTML report (app/report/text.h).
 *
 * Style and script stand in the page, so that one file can be mailed, archived and opened without a network. Neither
 * contains '<' or '&': the page stays well-formed XML. Without the script everything is there but the figures under the
 * pointer.
 *
 * Colours: c0 ... c7 tell run folders apart; the others have a meaning (computing is cool, communication is warm). They
 * are those of M. Okabe and K. Ito (Color Universal Design, 2008), which people with any colour vision tell apart,
 * darkened or lightened for contrast with either background. Dark follows the reader's system; paper is always light.
 */
#include "app/report/text.h"

#include "base/version.h"

static const char style_light[] =
    "--paper:#fcfbf9;--ink:#1f2328;--quiet:#646b73;--rule:#e4e1da;--grid:#eceae5;--card:#ffffff;--warn:#fff4dc;"
    "--warnline:#e0a100;--band:#0072b21c;--chip:#efede8;"
    "--c0:#0072b2;--c1:#c8500a;--c2:#00855f;--c3:#b0558a;--c4:#a07800;--c5:#3a8fc7;--c6:#5b5f66;--c7:#7a3e9d;"
    "--loss:#0072b2;--train:#8a9099;--valid:#0072b2;--test:#c8500a;--time:#0072b2;--wait:#c8500a;"
    "--linear:#0072b2;--aggregate:#009e73;--element:#56b4e9;--lossa:#9aa7b4;--optim:#d9b300;--halo:#d55e00;"
    "--reduce:#cc79a7;--evaluate:#4a4f57;--memory:#5f7f9f;--convolve:#7a3e9d;--batches:#8c510a;--sums:#8c2d5f;--second:"
    "#4d9221;";

static const char style_dark[] =
    "--paper:#15181c;--ink:#e8e6e1;--quiet:#9aa2ab;--rule:#30363d;--grid:#262b31;--card:#1b1f24;--warn:#33290f;"
    "--warnline:#c99a1c;--band:#56b4e926;--chip:#272c33;"
    "--c0:#56b4e9;--c1:#f08a4b;--c2:#2fbf94;--c3:#df9cc3;--c4:#e0b92e;--c5:#9fd0f0;--c6:#b0b6be;--c7:#b58be0;"
    "--loss:#56b4e9;--train:#8b939d;--valid:#56b4e9;--test:#f08a4b;--time:#56b4e9;--wait:#f08a4b;"
    "--linear:#3d8fd1;--aggregate:#1fae84;--element:#7cc4ec;--lossa:#8793a0;--optim:#d9b93a;--halo:#e2762b;"
    "--reduce:#d08bb3;--evaluate:#c9cdd3;--memory:#6f93b8;--convolve:#b58be0;--batches:#c49a6c;--sums:#eec1dc;--second:"
    "#a6d96a;";

static const char style_rest[] =
    "*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,"
    "-apple-system,'Segoe UI','Helvetica Neue',Arial,sans-serif;font-variant-numeric:tabular-nums}"
    "main{max-width:1180px;margin:0 auto;padding:40px 28px 60px}"
    "h1,h2,h3{font-weight:600;line-height:1.2;overflow-wrap:anywhere}"
    "h1{font-size:30px;letter-spacing:-.01em;margin:0 0 6px}"
    "h2{font-size:21px;margin:48px 0 14px;padding-top:14px;border-top:1px solid var(--rule)}"
    "h3{font-size:16px;margin:32px 0 10px}h2.run{font-size:25px;border-top:3px solid var(--ink);margin-top:72px}"
    "p{margin:8px 0;max-width:78ch;overflow-wrap:anywhere}p.lead{max-width:none;color:var(--quiet);font-size:16px}"
    "p.item{padding-left:16px;border-left:3px solid var(--rule)}p.muted{color:var(--quiet);font-size:13.5px}"
    "p.problem,p.warning{background:var(--warn);border-left:3px solid var(--warnline);padding:8px 14px;"
    "max-width:none;border-radius:0 4px 4px 0}.tiles{display:grid;grid-template-columns:repeat(auto-fit,"
    "minmax(165px,1fr));gap:0;margin:26px 0 10px;border:1px solid var(--rule);border-radius:8px;"
    "background:var(--card);overflow:hidden}"
    ".tile{padding:16px 18px;box-shadow:1px 0 0 var(--rule),0 1px 0 var(--rule)}.tile b{display:block;"
    "font-size:25px;font-weight:600;line-height:1.25;letter-spacing:-.01em;white-space:nowrap}"
    ".tile span{display:block;font-size:13px;color:var(--quiet)}"
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(510px,100%),1fr));gap:14px 30px}"
    ".pair div{min-width:0}figure{margin:10px 0;break-inside:avoid}"
    "figcaption{font-weight:600;font-size:14px;margin-bottom:4px}svg{display:block;width:100%;height:auto;"
    "overflow:visible;font:12px system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,sans-serif;"
    "font-variant-numeric:tabular-nums}svg.chart{max-width:680px}.grid{stroke:var(--grid)}"
    ".axis{stroke:var(--quiet);stroke-width:.8}.tick{fill:var(--quiet);font-size:12.5px}.r{text-anchor:end}"
    ".m{text-anchor:middle}.label{font-weight:600;font-size:13px}"
    ".line,.faint{fill:none;stroke-linejoin:round;stroke-linecap:round}.line{stroke-width:2}"
    ".faint{stroke-width:1;opacity:.45}.band{fill:var(--band)}.mark{stroke:var(--quiet);stroke-dasharray:2 3}"
    ".dot{stroke:var(--paper);stroke-width:1.5}svg .note{fill:var(--ink);font-size:12px;paint-order:stroke;"
    "stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}.point{opacity:.75}.range{opacity:.18}"
    ".tint{fill:color-mix(in srgb,var(--test) var(--share),var(--valid))}"
    ".tinted{stroke:color-mix(in srgb,var(--test) var(--share),var(--valid))}"
    ".hair{stroke:var(--quiet);stroke-width:.8}"
    ".tip{fill:var(--ink);font-size:12px;font-weight:600;paint-order:stroke;stroke:var(--paper);stroke-width:5px}"
    "table{border-collapse:separate;border-spacing:0;font-size:14px;margin:6px 0 12px}"
    "th{text-align:left;font-weight:600;color:var(--quiet);font-size:13px;border-bottom:1px solid var(--ink)}"
    "th.r,td.r{text-align:right}th,td{padding:4px 18px 4px 0;vertical-align:top}"
    "td{border-bottom:1px solid var(--rule);max-width:46ch;overflow-wrap:break-word}"
    "th:first-child,td:first-child{white-space:nowrap;position:sticky;left:0;background:var(--paper)}"
    "td.wide:first-child{white-space:normal;position:static;min-width:24ch}"
    "td.hit,td.miss{padding-right:9px;padding-left:9px}"
    "td.hit{background:color-mix(in srgb,var(--valid) var(--share),transparent)}"
    "td.miss{background:color-mix(in srgb,var(--test) var(--share),transparent)}.word{white-space:nowrap}"
    "pre.code{margin:6px 0 14px;padding:9px 12px;background:var(--chip);border-radius:5px;font-size:13px;"
    "white-space:pre-wrap;overflow-x:auto}"
    "td b{font-weight:650;background:var(--chip);padding:1px 6px;margin-left:-6px;border-radius:3px}"
    ".scroll{overflow-x:auto;padding-left:2px}.bars{--left:118px;--right:84px}"
    ".bars .plot{position:relative;padding-bottom:24px;font-size:12.5px;color:var(--quiet)}"
    ".bars .row{display:grid;grid-template-columns:var(--left) 1fr var(--right);align-items:center;height:28px}"
    ".bars .name{text-align:right;padding-right:9px}.bars .sum{padding-left:8px}"
    ".bars .name,.bars .sum{white-space:nowrap}.bars svg{position:relative;height:22px;width:100%}"
    ".bars .thin{margin:0 var(--right) 0 var(--left)}.bars .thin svg{height:100%}.bars svg.lines{position:absolute;"
    "top:0;left:var(--left);width:calc(100% - var(--left) - var(--right));height:calc(100% - 20px)}"
    ".lines path{vector-effect:non-scaling-stroke}"
    ".ticks{position:absolute;bottom:0;left:var(--left);right:var(--right);height:18px}"
    ".ticks span{position:absolute;transform:translateX(-50%);white-space:nowrap}"
    ".legend{margin:2px 0 8px;max-width:none;font-size:13px}"
    ".legend span{display:inline-block;margin-right:16px;white-space:nowrap}.legend .patch{margin-right:6px}"
    ".patch{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:8px;vertical-align:-1px}"
    "td.r{white-space:nowrap}details.many .scroll{columns:340px}details.many thead{display:none}"
    "details.many td:first-child{position:static}tr{break-inside:avoid}details{margin:8px 0}"
    "summary{cursor:pointer;color:var(--quiet);font-size:14px}"
    "footer{margin-top:60px;color:var(--quiet);font-size:13px;border-top:1px solid var(--rule);padding-top:12px}"
    "@media(max-width:560px){main{padding:22px 14px}.pair{grid-template-columns:1fr}th,td{padding-right:13px}"
    ".bars{--left:0px;--right:0px}.bars .row{grid-template-columns:1fr auto;height:auto;margin-bottom:9px}"
    ".bars .name{text-align:left;grid-row:1}.bars .sum{grid-area:1/2}.bars .row svg{grid-area:2/1/3/3;height:17px}"
    ".ticks span:nth-child(even){display:none}.ticks .first{transform:none}"
    ".ticks .last{transform:translateX(-100%)}svg{font-size:15px}.tick,.label,svg .note,.tip{font-size:15.5px}}"
    "@media(max-width:450px){.tick,.label,svg .note,.tip{font-size:18px}}"
    "@media(max-width:350px){.tick,.label,svg .note,.tip{font-size:21px}}@page{margin:14mm}"
    "@media print{:root{--paper:#fff}body{font-size:11px}h1{font-size:22px}h2{font-size:15px}h3{font-size:12.5px}"
    "p.lead{font-size:12px}p.muted,summary,th{font-size:10px}figcaption{font-size:11px}h2.run{font-size:18px}"
    "main{max-width:none;padding:0}h2{margin-top:22px;break-after:avoid}h3{break-after:avoid}"
    "h2.run{break-before:page}tr{break-inside:avoid}table{font-size:10.5px}th,td{padding-right:11px}th:first-child,"
    "td:first-child{position:static}.pair{grid-template-columns:1fr 1fr}.tiles{grid-template-columns:repeat(6,1fr)}"
    ".tile{padding:8px 10px}.tile b{font-size:16px}.tile span{font-size:10px}*{-webkit-print-color-adjust:exact;"
    "print-color-adjust:exact}}";

static const char *const colours[] = {"c0",       "c1",        "c2",       "c3",      "c4",    "c5",    "c6",
                                      "c7",       "loss",      "train",    "valid",   "test",  "time",  "wait",
                                      "linear",   "aggregate", "element",  "lossa",   "optim", "halo",  "reduce",
                                      "evaluate", "memory",    "convolve", "batches", "sums",  "second"};

/* Under the pointer: the epoch nearest to it and each line's value there, read back from the drawing's scale. */
static const char script[] =
    "document.querySelectorAll('svg.chart').forEach(function(svg){"
    "var X=svg.dataset.x.split(' ').map(Number),Y=svg.dataset.y.split(' ').map(Number);"
    "var log=svg.dataset.log==='1',unit=svg.dataset.unit,ns=svg.namespaceURI;"
    "function add(n,c){var e=document.createElementNS(ns,n);e.setAttribute('class',c);svg.appendChild(e);return e;}"
    "var hair=add('line','hair'),tip=add('text','tip');hair.style.display='none';"
    "var lines=Array.from(svg.querySelectorAll('path.line')).map(function(p){var pts=[];"
    "p.getAttribute('d').replace(/[ML]([-.0-9]+) ([-.0-9]+)/g,function(m,a,b){pts.push([Number(a),Number(b)]);});"
    "return {name:p.dataset.name,pts:pts};}).filter(function(l){return l.name ? l.pts.length : 0;});"
    "function value(y){var f=(y-Y[2])/(Y[3]-Y[2]);return "
    "log?Math.exp(Math.log(Y[0])+f*(Math.log(Y[1])-Math.log(Y[0]))):Y[0]+f*(Y[1]-Y[0]);}"
    "function show(v){if(unit==='1'){return (100*v).toFixed(2)+' %';}"
    "if(unit==='2'){return v>=1?v.toPrecision(3)+' s':v>=1e-3?(1e3*v).toPrecision(3)+' ms':(1e6*v).toPrecision(3)+' "
    "µs';}"
    "return v.toPrecision(4);}"
    "svg.addEventListener('mouseleave',function(){hair.style.display='none';tip.textContent='';});"
    "svg.addEventListener('mousemove',function(e){var r=svg.getBoundingClientRect();"
    "var x=(e.clientX-r.left)*svg.viewBox.baseVal.width/r.width,at=null;"
    "var found=lines.map(function(l){var best=l.pts[0];l.pts.forEach(function(p){"
    "if(Math.abs(best[0]-x)>Math.abs(p[0]-x)){best=p;}});"
    "if(at===null){at=best[0];}else if(Math.abs(at-x)>Math.abs(best[0]-x)){at=best[0];}return [l.name,best];})"
    ".filter(function(f){return 0.5>Math.abs(f[1][0]-at);});"
    "if(at===null){return;}"
    "var epoch=X[0]+(at-X[2])/(X[3]-X[2])*(X[1]-X[0]),label=svg.dataset.label;"
    "epoch=label==='epoch'?Math.round(epoch):Number(epoch.toPrecision(4));"
    "hair.style.display='';['x1','x2'].forEach(function(a){hair.setAttribute(a,at);});"
    "hair.setAttribute('y1',Y[3]);hair.setAttribute('y2',Y[2]);tip.setAttribute('x',X[2]);tip.setAttribute('y',11);"
    "tip.textContent=label+' '+epoch+found.slice(0,6).map(function(f){return ' · '+f[0]+' "
    "'+show(value(f[1][1]));}).join('');"
    "});});"
    "window.addEventListener('beforeprint',function(){document.querySelectorAll('details').forEach(function(d){"
    "d.open=true;});});";

static void write_style(FILE *file)
{
    fprintf(file, "<style>\n:root{color-scheme:light dark;%s}\n", style_light);
    fprintf(file, "@media screen and (prefers-color-scheme:dark){:root{%s}}\n%s\n", style_dark, style_rest);
    for (size_t i = 0; i < sizeof colours / sizeof *colours; ++i) {
        const char *c = colours[i];
        fprintf(file,
                ".%s{stroke:var(--%s)}.f-%s{fill:var(--%s)}.t-%s{fill:var(--%s)}.patch.%s{background:var(--%s)}\n", c,
                c, c, c, c, c, c, c);
    }
    fputs(".train,.time,.wait{stroke-width:1.5}\n</style>\n", file);
}

void page_begin(report_text *out, const char *title)
{
    text_html(out,
              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
              "content=\"width=device-width, initial-scale=1\"/>\n<title>%s</title>\n",
              title);
    if (out->html) {
        write_style(out->file);
    }
    text_html(out, "</head>\n<body>\n<main>\n");
}

void page_end(report_text *out)
{
    fprintf(out->file, out->html ? "<footer>weft %s, weft report</footer>\n" : "---\n\nweft %s, weft report\n",
            version_text());
    if (out->html) {
        fprintf(out->file, "</main>\n<script>%s</script>\n</body>\n</html>\n", script);
    }
}
