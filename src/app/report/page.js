document.querySelectorAll('svg.chart').forEach(function(svg){
  var X=svg.dataset.x.split(' ').map(Number),Y=svg.dataset.y.split(' ').map(Number);
  var log=svg.dataset.log==='1',unit=svg.dataset.unit,ns=svg.namespaceURI;
  function add(n,c){
    var e=document.createElementNS(ns,n);
    e.setAttribute('class',c);
    svg.appendChild(e);
    return e;
  }
  var hair=add('line','hair'),tip=add('text','tip');
  hair.style.display='none';
  var lines=Array.from(svg.querySelectorAll('path.line')).map(function(p){
    var pts=[];
    p.getAttribute('d').replace(/[ML]([-.0-9]+) ([-.0-9]+)/g,function(m,a,b){pts.push([Number(a),Number(b)]);});
    return {name:p.dataset.name,pts:pts};
  }).filter(function(l){return l.name ? l.pts.length : 0;});
  function value(y){
    var f=(y-Y[2])/(Y[3]-Y[2]);
    return log?Math.exp(Math.log(Y[0])+f*(Math.log(Y[1])-Math.log(Y[0]))):Y[0]+f*(Y[1]-Y[0]);
  }
  function show(v){
    if(unit==='1'){return (100*v).toFixed(2)+' %';}
    if(unit==='2'){
      return v>=1?v.toPrecision(3)+' s':
      v>=1e-3?(1e3*v).toPrecision(3)+' ms':
      (1e6*v).toPrecision(3)+' µs';
    }
    return v.toPrecision(4);
  }
  svg.addEventListener('mouseleave',function(){
    hair.style.display='none';
    tip.textContent='';
  });
  svg.addEventListener('mousemove',function(e){
    var r=svg.getBoundingClientRect();
    var x=(e.clientX-r.left)*svg.viewBox.baseVal.width/r.width,at=null;
    var found=lines.map(function(l){
      var best=l.pts[0];
      l.pts.forEach(function(p){
        if(Math.abs(best[0]-x)>Math.abs(p[0]-x)){best=p;}
      });
      if(at===null){at=best[0];}
      else if(Math.abs(at-x)>Math.abs(best[0]-x)){at=best[0];}
      return [l.name,best];
    }).filter(function(f){return 0.5>Math.abs(f[1][0]-at);});
    if(at===null){return;}
    var epoch=X[0]+(at-X[2])/(X[3]-X[2])*(X[1]-X[0]),label=svg.dataset.label;
    epoch=label==='epoch'?Math.round(epoch):Number(epoch.toPrecision(4));
    hair.style.display='';
    ['x1','x2'].forEach(function(a){hair.setAttribute(a,at);});
    hair.setAttribute('y1',Y[3]);
    hair.setAttribute('y2',Y[2]);
    tip.setAttribute('x',X[2]);
    tip.setAttribute('y',11);
    tip.textContent=label+' '+epoch+
      found.slice(0,6).map(function(f){return ' · '+f[0]+' '+show(value(f[1][1]));}).join('');
  });
});
window.addEventListener('beforeprint',function(){
  document.querySelectorAll('details').forEach(function(d){d.open=true;});
});
